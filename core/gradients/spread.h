#pragma once

#include "core/ops/gradient_call.h"

namespace simmesh {

// kept restores the reduced dims of a reduction's result, or of its gradient, with size 1.
Tensor kept(const GradientCall& call, const Tensor& result);

// spread expands a result of a reduction, or its gradient, to the shape of the input.
Tensor spread(const GradientCall& call, const Tensor& result);

}  // namespace simmesh
