#include <cstring>

#include <simmesh/core/check/check.h>
#include <simmesh/core/tensor/strided_copy.h>

namespace simmesh {

// The blocks of two loops. A block is what is contiguous on both sides; short ones are most of a
// copy's time, so each common size has code of its own.
struct StridedCopy::Plane {
  Loop rows;
  Loop columns;

  template <class Copy>
  void for_each(std::byte* target, const std::byte* source, Copy copy) const {
    // Bytes that are written could be the loops' own, for all that the compiler knows.
    const Loop outer = rows, inner = columns;
    for (std::int64_t i = 0; i < outer.size; ++i) {
      std::byte* to = target + i * outer.target;
      const std::byte* from = source + i * outer.source;
      for (std::int64_t j = 0; j < inner.size; ++j) {
        copy(to, from);
        to += inner.target;
        from += inner.source;
      }
    }
  }

  template <std::size_t bytes>
  void copy_blocks(std::byte* target, const std::byte* source) const {
    for_each(target, source,
             [](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
  }

  // Blocks of 8 to 64 bytes in words of the given size; the last one may overlap the one before it.
  template <std::size_t word>
  void copy_words(std::byte* target, const std::byte* source, std::size_t bytes) const {
    for_each(target, source, [=](std::byte* to, const std::byte* from) {
      for (std::size_t at = 0; at + word < bytes; at += word) std::memcpy(to + at, from + at, word);
      std::memcpy(to + bytes - word, from + bytes - word, word);
    });
  }

  void copy(std::byte* target, const std::byte* source, std::size_t bytes) const {
    switch (bytes) {
      case 1: return copy_blocks<1>(target, source);
      case 2: return copy_blocks<2>(target, source);
      case 4: return copy_blocks<4>(target, source);
      case 8: return copy_blocks<8>(target, source);
      case 16: return copy_blocks<16>(target, source);
      case 32: return copy_blocks<32>(target, source);
      case 64: return copy_blocks<64>(target, source);
      default: break;
    }
    if (bytes > 8 && bytes < 16) return copy_words<8>(target, source, bytes);
    if (bytes > 16 && bytes < 64) return copy_words<16>(target, source, bytes);
    for_each(target, source,
             [=](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
  }
};

StridedCopy::StridedCopy(DimSpan target_strides, DimSpan source_strides, DimSpan shape,
                         std::size_t element_bytes)
    : block_bytes_(element_bytes) {
  SIMMESH_CHECK(std::int64_t(shape.size()) <= dims_max, "{} dims to copy", shape.size());
  auto element = std::int64_t(element_bytes);
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 0) {
      around_count_ = 0;
      return;
    }
    if (shape[dim] > 1)
      add(shape[dim], target_strides[dim] * element, source_strides[dim] * element);
  }
  bool is_block = around_count_ > 0 && around_[around_count_ - 1].target == element &&
                  around_[around_count_ - 1].source == element;
  if (is_block) block_bytes_ *= std::size_t(take_innermost().size);
  columns_ = take_innermost();
  rows_ = take_innermost();
}

// Makes the dim longer that is innermost so far, where walking both is the same as that. Loops are
// changed where they lie: one that was just written is slow to copy.
void StridedCopy::add(std::int64_t size, std::int64_t target, std::int64_t source) {
  bool merges = around_count_ > 0 && around_[around_count_ - 1].target == target * size &&
                around_[around_count_ - 1].source == source * size;
  if (!merges) around_[around_count_++].size = 1;
  Loop& loop = around_[around_count_ - 1];
  loop.size *= size;
  loop.target = target;
  loop.source = source;
}

StridedCopy::Loop StridedCopy::take_innermost() {
  return around_count_ == 0 ? Loop{1, 0, 0} : around_[--around_count_];
}

void StridedCopy::run(std::size_t level, std::byte* target, const std::byte* source) const {
  if (level == around_count_) return Plane{rows_, columns_}.copy(target, source, block_bytes_);
  const Loop& loop = around_[level];
  for (std::int64_t i = 0; i < loop.size; ++i)
    run(level + 1, target + i * loop.target, source + i * loop.source);
}

void StridedCopy::operator()(std::byte* target, const std::byte* source) const {
  run(0, target, source);
}

void strided_copy(const StridedBytes& target, const ConstStridedBytes& source, DimSpan shape,
                  std::size_t element_bytes) {
  StridedCopy copy(target.strides, source.strides, shape, element_bytes);
  copy(target.data, source.data);
}

}  // namespace simmesh
