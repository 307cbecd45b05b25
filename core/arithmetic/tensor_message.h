#pragma once

#include "core/engine/spread/message_bytes.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// write_tensor writes the elements of a tensor, row-major, and the unrounded sums behind them. They
// travel as they are: no sum is rounded on the way.
void write_tensor(MessageWriter& message, const Tensor& tensor);

// read_tensor reads them into a contiguous tensor of the dtype and shape, which the reader knows.
Tensor read_tensor(MessageReader& message, DType dtype, const Shape& shape);

// view_tensor returns a tensor whose elements are those of the message, which it owns as a whole.
// So it is for tensors that go soon. With unrounded sums behind them it has its own.
Tensor view_tensor(MessageReader& message, DType dtype, const Shape& shape);

// tensor_message_bytes bounds the bytes that a tensor without such sums adds to a message.
inline std::size_t tensor_message_bytes(const Tensor& tensor) {
  return tensor.bytes() + message_alignment + sizeof(std::uint64_t);
}

}  // namespace simmesh
