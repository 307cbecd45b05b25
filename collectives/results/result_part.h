#pragma once

#include <cstdint>
#include <string>

#include "core/memory/buffer.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// ResultPart is one tensor of a member's result: a contiguous range of a buffer that other members
// may share.
struct ResultPart {
  BufferPtr buffer;  // null in a world of shapes only
  std::size_t offset = 0;
  Shape shape;
  DType dtype = DType::float32;
  std::uint64_t hash = 0;  // of the bytes

  // of returns the elements of a tensor, row-major, in the tensor's own buffer if they lie so
  // there; of a tensor without elements the shape and dtype.
  static ResultPart of(const Tensor& tensor);
  // to_tensor makes the part a tensor of the active rank, charged to it.
  Tensor to_tensor() const;
};

// describe_operand returns "float32[4, 2]".
std::string describe_operand(DType dtype, DimSpan shape);

}  // namespace simmesh
