#pragma once

#include <array>
#include <cstddef>

#include "core/kernels/instruction_set.h"
#include "core/kernels/kernels.h"
#include "core/tensor/shape.h"

namespace simmesh {

// StridedBytes is the target of a copy of an array.
struct StridedBytes {
  std::byte* data;
  DimSpan strides;  // in elements
};
// ConstStridedBytes is the source of a copy of an array.
struct ConstStridedBytes {
  const std::byte* data;
  DimSpan strides;  // in elements
};

// StridedCopy copies arrays of one shape from one set of strides, in elements, to another. The
// loops are worked out once from shape and strides: neighbouring dims that are contiguous on both
// sides are copied as one block.
class StridedCopy {
 public:
  StridedCopy(DimSpan target_strides, DimSpan source_strides, DimSpan shape,
              std::size_t element_bytes, InstructionSet set = best_instruction_set());

  // operator() copies the array that begins at source to target.
  void operator()(std::byte* target, const std::byte* source) const;

  // past_caches copies to memory that nobody reads soon; see stream_copy.
  void past_caches(std::byte* target, const std::byte* source) const;

 private:
  void add(std::int64_t size, std::int64_t target, std::int64_t source);
  CopyLoop take_innermost();
  template <class F>
  void for_each_plane(std::size_t level, std::byte* target, const std::byte* source,
                      const F& copy) const;

  // Many copies are of a few elements, so the list stays in place.
  std::array<CopyLoop, std::size_t(dims_max)> around_;  // around a plane's loops, outermost first
  std::size_t around_count_ = 0;
  CopyPlane plane_;
  CopyKernel copy_plane_;
};

// strided_copy copies the elements of source, an array of the given shape, to target.
void strided_copy(const StridedBytes& target, const ConstStridedBytes& source, DimSpan shape,
                  std::size_t element_bytes);

}  // namespace simmesh
