#pragma once

#include "core/ops/gradient_call.h"

namespace simmesh {

// Final steps of gradient rules in many families: they bring a gradient to the type of an input, in
// a scope of KeepUnrounded where that input's gradient is still accumulated.

// summed_to_input sums a gradient over the dims that the input was broadcast along, and converts it
// to the input's dtype.
Tensor summed_to_input(const GradientCall& call, std::size_t input, const Tensor& gradient);

// product_for_input returns a * b, two matrices or two batches of them, as the gradient of an input
// of as many elements.
Tensor product_for_input(const GradientCall& call, std::size_t input, const Tensor& a,
                         const Tensor& b);

}  // namespace simmesh
