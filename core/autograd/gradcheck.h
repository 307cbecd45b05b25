#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh {

// GradcheckOptions are the step of the central differences and the tolerances.
struct GradcheckOptions {
  double step = 1e-6;
  double absolute = 1e-5;
  double relative = 1e-3;
  // second_order checks the gradients of the gradients as well.
  bool second_order = true;
};

// gradcheck compares the gradients of a function of float64 tensors with central differences, for
// each floating input that requires a gradient, and describes the differences; empty where all
// agree. With a step h the differences are off by h^2 times the third derivative plus the rounding
// error over h: about 1e-10 for values near one, far below the default tolerance.
std::string gradcheck(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>& function,
    const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

}  // namespace simmesh
