#include "core/samples/op_sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check/check.h"
#include "core/tensor/formula.h"

namespace simmesh {

namespace {

bool is_letter(char c) { return c >= 'a' && c < char('a' + SampleSizes::letter_count); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t size_of(char name, const SampleSizes& sizes) {
  return is_letter(name) ? sizes[name] : name - '0';
}

SampleInput parse_word(std::string_view word) {
  SampleInput input;
  if (word == "-") {
    input.is_absent = true;
    return input;
  }
  if (std::size_t colon = word.find(':'); colon != word.npos) {
    input.elements = word[0];
    if (colon == 3) input.below = word[2];
    word.remove_prefix(colon + 1);
  }
  if (word == ".") return input;
  while (!word.empty()) {
    std::size_t length = 1;
    if (word[0] == '(') {
      std::size_t end = word.find(')');
      SIMMESH_CHECK(end != word.npos, "the word '{}' of a sample has no ')'", word);
      input.dims.push_back({word.substr(1, end - 1), 1});
      length = end + 1;
    } else if (is_letter(word[0])) {
      input.dims.push_back({word.substr(0, 1), 1});
    } else {
      SIMMESH_CHECK(is_digit(word[0]), "the word '{}' of a sample has no dim", word);
      input.dims.push_back({{}, word[0] - '0'});
    }
    word.remove_prefix(length);
  }
  return input;
}

// Words draws numbers for one tensor.
class Words {
 public:
  Words(const SampleData& data, std::size_t input)
      : data_(data), seed_(data.seed * 64 + input * 4 + std::uint64_t(data.flavor)) {}

  // below returns an integer in [0, count).
  std::int64_t below(std::int64_t count) {
    return std::int64_t((formula_word(seed_, next_++) >> 20) % std::uint64_t(count));
  }
  std::int64_t whole(std::int64_t bound) { return below(2 * bound + 1) - bound; }

  bool truth() {
    if (data_.flavor != SampleData::Flavor::sparse) return below(2) != 0;
    return is_rare() != data_.negated;
  }

  double number(char elements) {
    double value = plain(elements);
    bool is_signed = elements != 'p' && elements != 'r';
    return data_.negated && is_signed ? -value : value;
  }

 private:
  bool is_rare() { return below(16) == 0; }

  double plain(char elements) {
    using Flavor = SampleData::Flavor;
    switch (elements) {
      case 'p':
        if (data_.flavor != Flavor::fractions && data_.flavor != Flavor::wide)
          return double(1 + below(8));
        return data_.flavor == Flavor::wide ? double(1 + below(48)) : double(1 + below(16)) / 8;
      case 'r': return double(below(9)) / 8;
      case 'u': return double(whole(8)) / 8;
      case 'm':
        if (below(4) == 0) return std::numeric_limits<double>::quiet_NaN();
        break;
      case 'q': return std::ldexp(below(2) ? 1.0 : -1.0, int(whole(1)));
      case 'd': return 2520.0 * double(whole(4));
      case 'D': return 2520.0 * 2520.0 * double(whole(4));
      default: break;
    }
    if (data_.flavor == Flavor::sparse) return is_rare() ? double(1 + below(4)) : 0;
    if (data_.flavor == Flavor::small) return double(whole(4));
    return data_.flavor == Flavor::wide ? double(whole(48)) : double(whole(8)) / 8;
  }

  const SampleData& data_;
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

// Fills one symmetric positive definite matrix: its diagonal outweighs the rest of each row.
void fill_definite(Tensor& x, Words& words) {
  auto out = x.mutable_values<double>();
  std::int64_t size = x.dim() < 2 ? 1 : x.size(-1);
  for (std::size_t start = 0; start < out.size(); start += std::size_t(size * size))
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        double value = i == j ? double(4 * size + words.below(4)) : double(words.whole(2));
        out[start + std::size_t(i * size + j)] = value;
        out[start + std::size_t(j * size + i)] = value;
      }
}

// Fills lower triangles with a diagonal of ones.
void fill_triangular(Tensor& x, Words& words) {
  auto out = x.mutable_values<double>();
  std::size_t size = x.dim() < 2 ? 1 : std::size_t(x.size(-1));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t row = i / size % size, column = i % size;
    out[i] = row == column ? 1.0 : column < row ? double(words.whole(1)) : 0.0;
  }
}

// Along dim 0 each index occurs once, as long as there are enough of them.
void fill_distinct(Tensor& x, Words& words, std::int64_t below) {
  auto out = x.mutable_values<std::int64_t>();
  std::int64_t lines = x.dim() == 0 || x.size(0) == 0 ? 1 : x.size(0);
  std::int64_t width = std::int64_t(out.size()) / lines;
  for (std::int64_t column = 0; column < width; ++column) {
    std::int64_t first = below > 0 ? words.below(below) : 0;
    for (std::int64_t line = 0; line < lines; ++line)
      out[line * width + column] = below > 0 ? (first + line) % below : 0;
  }
}

Tensor integers(const SampleInput& input, const Shape& shape, Words& words,
                const SampleSizes& sizes) {
  Tensor x = zeros(shape, DType::int64);
  auto out = x.mutable_values<std::int64_t>();
  std::int64_t below = size_of(input.below, sizes);
  if (input.elements == 'w') {
    fill_distinct(x, words, below);
    return x;
  }
  for (std::int64_t& value : out) {
    if (input.elements == 'n') value = std::int64_t(words.number('f') * 8);
    if (input.elements == 'i') value = below > 0 ? words.below(below) : 0;
  }
  return x;
}

Tensor made(const SampleInput& input, const SampleSizes& sizes, Words words) {
  Shape shape;
  for (std::size_t dim = 0; dim < input.dims.size(); ++dim) shape.push_back(input.size(dim, sizes));
  if (input.elements == 'b') {
    Tensor x = zeros(shape, DType::boolean);
    for (bool& value : x.mutable_values<bool>()) value = words.truth();
    return x;
  }
  if (std::string_view("niw").find(input.elements) != std::string_view::npos)
    return integers(input, shape, words, sizes);
  Tensor x = zeros(shape, DType::float64);
  if (input.elements == 'y') {
    fill_definite(x, words);
    return x;
  }
  if (input.elements == 't') {
    fill_triangular(x, words);
    return x;
  }
  auto out = x.mutable_values<double>();
  for (double& value : out) value = words.number(input.elements);
  if (input.elements == 's') {
    auto row = x.dim() == 0 ? 1 : std::ptrdiff_t(x.size(-1));
    for (auto at = out.data(); row > 0 && at != out.data() + out.size(); at += row)
      std::sort(at, at + row);
  }
  return x;
}

}  // namespace

std::int64_t SampleInput::size(std::size_t dim, const SampleSizes& sizes) const {
  std::int64_t size = dims[dim].fixed;
  for (char letter : dims[dim].letters) size *= sizes[letter];
  return size;
}

std::vector<SampleInput> parse_sample_inputs(std::string_view words) {
  std::vector<SampleInput> inputs;
  while (!words.empty()) {
    std::size_t end = std::min(words.find(' '), words.size());
    inputs.push_back(parse_word(words.substr(0, end)));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return inputs;
}

std::vector<Tensor> sample_inputs(const OpSample& sample, const SampleSizes& sizes,
                                  const SampleData& data) {
  std::vector<Tensor> inputs;
  for (const SampleInput& input : parse_sample_inputs(sample.inputs))
    inputs.push_back(input.is_absent ? Tensor() : made(input, sizes, Words(data, inputs.size())));
  return inputs;
}

std::string letters_of(const OpSample& sample) {
  std::string letters;
  for (const SampleInput& input : parse_sample_inputs(sample.inputs))
    for (const OpenDim& dim : input.dims) letters += dim.letters;
  std::sort(letters.begin(), letters.end());
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  return letters;
}

}  // namespace simmesh
