#pragma once

#include <gsl/span>

#include "core/ops/op.h"

namespace simmesh {

// to returns the elements in another dtype, rounded once as converted does (aten::_to_copy); the
// tensor itself where it has that dtype.
Tensor to(const Tensor& x, DType dtype);

// conversion_ops returns the ops of this family.
gsl::span<const Op* const> conversion_ops();

}  // namespace simmesh
