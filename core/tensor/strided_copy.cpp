#include "core/tensor/strided_copy.h"

#include "core/check/check.h"
#include "core/tensor/stream_copy.h"

namespace simmesh {

namespace {

// In a shorter block the cache lines at both ends, which go through the caches, would be a large
// part.
constexpr std::int64_t streamed_block_bytes_min = 512;

}  // namespace

StridedCopy::StridedCopy(DimSpan target_strides, DimSpan source_strides, DimSpan shape,
                         std::size_t element_bytes, InstructionSet set)
    : copy_plane_(kernels_of(set).copy_plane) {
  plane_.bytes = std::int64_t(element_bytes);
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
  if (is_block) plane_.bytes *= take_innermost().size;
  plane_.columns = take_innermost();
  plane_.rows = take_innermost();
}

// Extends the innermost dim so far, where one walk over both dims is the same; else adds a loop.
// Loops are changed in place, since one that was just written is slow to copy.
void StridedCopy::add(std::int64_t size, std::int64_t target, std::int64_t source) {
  bool merges = around_count_ > 0 && around_[around_count_ - 1].target == target * size &&
                around_[around_count_ - 1].source == source * size;
  if (!merges) around_[around_count_++].size = 1;
  CopyLoop& loop = around_[around_count_ - 1];
  loop.size *= size;
  loop.target = target;
  loop.source = source;
}

CopyLoop StridedCopy::take_innermost() {
  return around_count_ == 0 ? CopyLoop{1, 0, 0} : around_[--around_count_];
}

template <class F>
void StridedCopy::for_each_plane(std::size_t level, std::byte* target, const std::byte* source,
                                 const F& copy) const {
  if (level == around_count_) return copy(target, source);
  const CopyLoop& loop = around_[level];
  for (std::int64_t i = 0; i < loop.size; ++i)
    for_each_plane(level + 1, target + i * loop.target, source + i * loop.source, copy);
}

void StridedCopy::operator()(std::byte* target, const std::byte* source) const {
  for_each_plane(0, target, source,
                 [this](std::byte* to, const std::byte* from) { copy_plane_(plane_, to, from); });
}

void StridedCopy::past_caches(std::byte* target, const std::byte* source) const {
  if (plane_.bytes < streamed_block_bytes_min) return (*this)(target, source);
  StreamCopies copies;
  for_each_plane(0, target, source, [&](std::byte* to, const std::byte* from) {
    for (std::int64_t i = 0; i < plane_.rows.size; ++i)
      for (std::int64_t j = 0; j < plane_.columns.size; ++j)
        copies.copy(
            to + i * plane_.rows.target + j * plane_.columns.target,
            {from + i * plane_.rows.source + j * plane_.columns.source, std::size_t(plane_.bytes)});
  });
}

void strided_copy(const StridedBytes& target, const ConstStridedBytes& source, DimSpan shape,
                  std::size_t element_bytes) {
  StridedCopy copy(target.strides, source.strides, shape, element_bytes);
  copy(target.data, source.data);
}

}  // namespace simmesh
