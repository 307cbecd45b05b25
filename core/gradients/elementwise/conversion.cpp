#include "core/ops/elementwise/conversion.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients to_copy_gradient(const GradientCall& call) {
  DType dtype = call.input_type(0).dtype;
  if (!is_floating_point(dtype)) return {Tensor()};
  return {to(call.gradient(), dtype)};
}

}  // namespace

void conversion_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"_to_copy", {to_copy_gradient}}, {"_local_scalar_dense", {}},  // a number of the host
  };
  table.add(gradients);
}

}  // namespace simmesh
