#include "verify/pipeline/zero_signs.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/ops/elementwise/comparison.h"
#include "verify/case_bits.h"

namespace simmesh {

namespace {

constexpr std::size_t choices_max = 46;  // in one search: 2^23 states from either end
constexpr std::int64_t columns_max = 10;

// A Block is a part of a tensor's bytes, in one or two versions.
using Block = std::vector<std::vector<std::uint8_t>>;
using Blocks = std::vector<Block>;

// Returns the inverse of the prime modulo 2^64, by Newton's iteration.
std::uint64_t inverse_of_prime() {
  std::uint64_t inverse = fnv_prime;
  for (int i = 0; i < 6; ++i) inverse *= 2 - fnv_prime * inverse;
  return inverse;
}

std::uint64_t hash_on(std::uint64_t state, const std::vector<std::uint8_t>& bytes) {
  return fnv1a(state, gsl::as_bytes(gsl::span<const std::uint8_t>(bytes)));
}

std::uint64_t hash_back(std::uint64_t state, const std::vector<std::uint8_t>& bytes) {
  static const std::uint64_t inverse = inverse_of_prime();
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) state = state * inverse ^ *byte;
  return state;
}

// Replaces the states of a hash by those after, or before, a block.
template <class Step>
void step_over(const Block& block, const Step& step, std::vector<std::uint64_t>& states) {
  std::size_t known = states.size();
  states.resize(known * block.size());
  for (std::size_t i = 0; i < known; ++i) {
    std::uint64_t start = states[i];
    for (std::size_t version = 0; version < block.size(); ++version)
      states[version * known + i] = step(start, block[version]);
  }
}

// Returns whether some versions of the blocks have the hash: the states that half of the choices
// lead to from the begin meet those that the others lead to from the end.
bool some_version_has(const Blocks& blocks, std::uint64_t hash) {
  auto choices = std::size_t(std::count_if(blocks.begin(), blocks.end(),
                                           [](const Block& block) { return block.size() > 1; }));
  if (choices > choices_max) return false;
  std::size_t middle = 0;
  std::vector<std::uint64_t> after = {fnv_basis}, before = {hash};
  for (std::size_t seen = 0; seen < choices / 2; ++middle) {
    step_over(blocks[middle], hash_on, after);
    seen += blocks[middle].size() > 1 ? 1 : 0;
  }
  for (std::size_t i = blocks.size(); i-- > middle;) step_over(blocks[i], hash_back, before);
  std::sort(after.begin(), after.end());
  return std::any_of(before.begin(), before.end(), [&](std::uint64_t state) {
    return std::binary_search(after.begin(), after.end(), state);
  });
}

// ZeroSigns makes versions of a tensor that differ in signs of zeros.
class ZeroSigns {
 public:
  explicit ZeroSigns(const Tensor& rows)
      : bytes_(reinterpret_cast<const std::uint8_t*>(rows.data())),
        width_(bytes_per_element(rows.dtype())) {
    Tensor zero = eq(rows, 0.0).contiguous();
    for (bool is_zero : zero.values<bool>()) is_zero_.push_back(is_zero);
  }

  // Each zero has a sign of its own.
  Blocks by_element() const {
    Blocks blocks;
    for (std::size_t i = 0; i < is_zero_.size(); ++i) {
      blocks.emplace_back();
      for (bool is_negative : {false, true})
        if (is_zero_[i] || !is_negative) {
          blocks.back().emplace_back();
          add(i, is_negative, blocks.back().back());
        }
    }
    return blocks;
  }

  // The sign of a zero is the product of one of its row and one of its column, as in an outer
  // product. `columns` are the latter.
  Blocks by_row(std::size_t count, std::uint32_t columns) const {
    Blocks blocks;
    for (std::size_t row = 0; row < is_zero_.size(); row += count) {
      blocks.emplace_back(2);
      bool has_zero = false;
      for (std::size_t column = 0; column < count; ++column) {
        bool is_negative = (columns >> column & 1) != 0;
        has_zero |= is_zero_[row + column];
        add(row + column, is_negative, blocks.back()[0]);
        add(row + column, !is_negative, blocks.back()[1]);
      }
      if (!has_zero) blocks.back().pop_back();
    }
    return blocks;
  }

 private:
  void add(std::size_t element, bool is_negative, std::vector<std::uint8_t>& to) const {
    const std::uint8_t* begin = bytes_ + element * width_;
    to.insert(to.end(), begin, begin + width_);
    if (is_zero_[element]) to.back() = is_negative ? 0x80 : 0;
  }

  const std::uint8_t* bytes_;
  std::size_t width_;
  std::vector<bool> is_zero_;
};

}  // namespace

bool has_bits_but_zero_signs(const Tensor& tensor, const std::string& hash) {
  Tensor rows = known_rows(tensor);
  if (bits_text(gsl::span<const std::byte>(rows.data(), rows.bytes())) == hash) return true;
  if (!is_floating_point(rows.dtype()) || rows.numel() == 0) return false;
  ZeroSigns signs(rows);
  std::uint64_t wanted = std::stoull(hash, nullptr, 16);
  if (some_version_has(signs.by_element(), wanted)) return true;
  if (rows.dim() != 2 || rows.size(1) > columns_max) return false;
  for (std::uint32_t columns = 0; columns < 1u << rows.size(1); ++columns)
    if (some_version_has(signs.by_row(std::size_t(rows.size(1)), columns), wanted)) return true;
  return false;
}

}  // namespace simmesh
