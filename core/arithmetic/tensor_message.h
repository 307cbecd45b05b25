#pragma once

#include "core/engine/spread/message_bytes.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// write_tensor writes the elements of a tensor, row-major, and the unrounded sums behind them. They
// travel as they are: no sum is rounded on the way.
void write_tensor(MessageWriter& message, const Tensor& tensor);

// read_tensor reads them into a contiguous tensor of the dtype and shape, which the reader knows.
Tensor read_tensor(MessageReader& message, DType dtype, const Shape& shape);

}  // namespace simmesh
