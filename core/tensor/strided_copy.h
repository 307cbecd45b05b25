#pragma once

#include <cstddef>

#include <simmesh/core/tensor/shape.h>

namespace simmesh {

// StridedBytes is where an array is written to.
struct StridedBytes {
  std::byte* data;
  DimSpan strides;  // in elements
};
// ConstStridedBytes is where an array is read from.
struct ConstStridedBytes {
  const std::byte* data;
  DimSpan strides;  // in elements
};

// strided_copy copies the elements of source, an array of the given shape, to target. Neighbouring
// dims that are contiguous on both sides are copied as one block.
void strided_copy(const StridedBytes& target, const ConstStridedBytes& source, DimSpan shape,
                  std::size_t element_bytes);

}  // namespace simmesh
