#include "core/ops/neural/pooling.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Gradients max_pool_gradient(const GradientCall& call) {
  if (!call.has_gradient(0)) return {Tensor()};
  Tensor g = flatten(call.gradient(0), -2), places = flatten(call.output(1), -2);
  const Shape& shape = call.input_type(0).shape;
  Shape flat(shape.begin(), shape.end() - 2);
  flat.push_back(shape.end()[-2] * shape.end()[-1]);
  return {reshape(scatter_add(new_zeros(g, flat), -1, places, g), shape)};
}

Gradients avg_pool_gradient(const GradientCall& call) {
  return {avg_pool2d_backward(call.gradient(), call.input_type(0).shape, call.attributes())};
}

// An average is linear.
Gradients avg_pool_backward_gradient(const GradientCall& call) {
  return {avg_pool2d_again(call.gradient(), call.attributes())};
}

}  // namespace

void pooling_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"avg_pool2d", {avg_pool_gradient}},
      {"avg_pool2d_backward", {avg_pool_backward_gradient}},
      {"max_pool2d_with_indices", {max_pool_gradient, {.outputs = 0b10}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
