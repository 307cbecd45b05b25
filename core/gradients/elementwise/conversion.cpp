#include "core/ops/elementwise/conversion.h"

#include "core/gradients/families.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients to_copy_gradient(const GradientCall& call) {
  DType dtype = call.input_type(0).dtype;
  if (!is_floating_point(dtype)) return {Tensor()};
  return {to(call.gradient(), dtype)};
}

}  // namespace

gsl::span<const OpGradient> conversion_gradients() {
  static const OpGradient gradients[] = {
      {"_to_copy", {to_copy_gradient}},
  };
  return gradients;
}

}  // namespace simmesh
