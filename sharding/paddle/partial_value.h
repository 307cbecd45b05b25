#pragma once

#include <cstdint>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/tensor/tensor.h"

namespace simmesh::paddle {

// neutral_tensor returns the identity of a reduction: zeros for a sum and for `bor`, ones for a
// product and for `band`, the lowest value for a maximum (-inf where there is one), the highest for
// a minimum. Raises a ValueError for a reduction without one.
Tensor neutral_tensor(DimSpan shape, DType dtype, ReduceOp op);

// partial_value returns the operand of the rank at a coordinate of a mesh dim, for a value that
// becomes partial along it by Paddle's rule: see ReplicateToPartial.
Tensor partial_value(const Tensor& value, ReduceOp op, std::int64_t coordinate);

// divided_integers returns a tensor of integers divided by a positive number, rounded towards zero,
// as Paddle averages integers.
Tensor divided_integers(const Tensor& sums, std::int64_t divisor);

}  // namespace simmesh::paddle
