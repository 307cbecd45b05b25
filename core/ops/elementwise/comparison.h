#pragma once

#include "core/ops/elementwise/selection.h"
#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// Comparisons of broadcast elements in their common dtype; bool. Shapes that don't broadcast raise
// a RuntimeError.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, Number b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, Number b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, Number b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, Number b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, Number b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, Number b);

// equal says whether two tensors have the same shape and equal elements; NaN equals nothing. For
// distributed tensors all ranks get the same answer. Raises a RuntimeError for different dtypes.
bool equal(const Tensor& a, const Tensor& b);

}  // namespace simmesh
