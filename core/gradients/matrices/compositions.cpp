#include "core/ops/matrices/compositions.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients cross_gradient(const GradientCall& call) {
  auto dim = call.attributes().get(attribute::dim);
  Gradients result(2);
  Tensor g = call.gradient();
  if (call.needs(0)) result[0] = summed_to_input(call, 0, cross(call.input(1), g, dim));
  if (call.needs(1)) result[1] = summed_to_input(call, 1, cross(g, call.input(0), dim));
  return result;
}

}  // namespace

void compositions_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"linalg_cross", {cross_gradient, {.inputs = 0b11, .crosswise = true}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
