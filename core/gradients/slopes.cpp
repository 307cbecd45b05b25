#include "core/gradients/slopes.h"

#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh {

Gradient slope_of_input(Slope slope) {
  auto rule = [slope](const GradientCall& call) -> Gradients {
    return {to(call.gradient() * slope(call.input(0)), call.input_type(0).dtype)};
  };
  return {rule, {.inputs = 1}};
}

Gradient slope_of_output(Slope slope) {
  auto rule = [slope](const GradientCall& call) -> Gradients {
    return {to(call.gradient() * slope(call.output()), call.input_type(0).dtype)};
  };
  return {rule, {.outputs = 1}};
}

}  // namespace simmesh
