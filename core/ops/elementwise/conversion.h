#pragma once

#include <gsl/span>

#include "core/ops/number.h"
#include "core/ops/op.h"

namespace simmesh {

// to returns the elements in another dtype, rounded once as converted does (aten::_to_copy); the
// tensor itself where it has that dtype.
Tensor to(const Tensor& x, DType dtype);

// item returns the one element of a tensor of any shape; for a distributed tensor every rank of its
// mesh gets it, and all processes over which a run is spread. Raises a RuntimeError for a tensor of
// more elements or none.
Number item(const Tensor& x);

// converted_unrounded is converted(); in a scope of KeepUnrounded it also takes the unrounded sums
// along, and rounds the elements from them, once.
Tensor converted_unrounded(const Tensor& tensor, DType dtype);

}  // namespace simmesh
