#pragma once

#include "core/ops/gradient_call.h"

namespace simmesh {

// kept gives a result of a reduction, or its gradient, its reduced dims back, with size 1.
Tensor kept(const GradientCall& call, const Tensor& result);

// spread brings a result of a reduction, or its gradient, to the shape of the input.
Tensor spread(const GradientCall& call, const Tensor& result);

}  // namespace simmesh
