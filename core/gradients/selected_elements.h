#pragma once

#include "core/ops/gradient_call.h"

namespace simmesh {

// selected_elements returns the gradient of an op that selects elements along "dim". Its outputs
// are the elements and their indices, and each element's gradient goes to the place that it came
// from.
Gradient selected_elements();

}  // namespace simmesh
