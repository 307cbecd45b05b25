#pragma once

#include "core/ops/gradient_call.h"

namespace simmesh {

// kept restores the reduced dims of a reduction's result, or of its gradient, with size 1.
Tensor kept(const GradientCall& call, const Tensor& result);

// spread expands a result of a reduction, or its gradient, to the shape of the input.
Tensor spread(const GradientCall& call, const Tensor& result);

// evenly_shared is the gradient of an element that a reduction of all elements finds: those that
// equal it share its gradient, and a NaN equals NaNs.
Gradients evenly_shared(const GradientCall& call);

}  // namespace simmesh
