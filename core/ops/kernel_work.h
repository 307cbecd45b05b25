#pragma once

#include <gsl/span>

#include "core/ops/op.h"

namespace simmesh {

// floating_operations returns the number of floating-point operations of a kernel, as a device
// model counts them: two for each term of a product (mm, bmm, mv, dot, addmm, baddbmm, linear,
// convolution), else one for each element of the outputs.
double floating_operations(const Op& op, gsl::span<const Tensor> inputs,
                           gsl::span<const Tensor> outputs);

}  // namespace simmesh
