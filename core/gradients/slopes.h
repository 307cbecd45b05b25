#pragma once

#include "core/ops/gradient_call.h"

namespace simmesh {

// Slope is the derivative of a function of one tensor, in terms of its input or of its output.
using Slope = Tensor (*)(const Tensor& saved);

// slope_of_input and slope_of_output return the gradient of such a function: the gradient of the
// output times the slope. It saves only the tensor that the slope reads.
Gradient slope_of_input(Slope slope);
Gradient slope_of_output(Slope slope);

}  // namespace simmesh
