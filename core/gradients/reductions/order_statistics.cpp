#include "core/gradients/gradient_table.h"
#include "core/gradients/spread.h"
#include "core/ops/attribute_names.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// The gradient goes to the selected element.
Gradients element_gradient(const GradientCall& call) {
  if (!call.has_gradient(0)) return {Tensor()};
  Tensor g = call.gradient(0), indices = call.output(1);
  auto dim = call.attributes().get(attribute::dim);
  const Shape& shape = call.input_type(0).shape;
  if (shape.empty()) return {g};
  if (!call.attributes().get(attribute::keepdim)) {
    g = unsqueeze(g, dim);
    indices = unsqueeze(indices, dim);
  }
  return {scatter_add(new_zeros(g, shape), dim, indices, g)};
}

}  // namespace

void order_statistics_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"median", {evenly_shared, {.inputs = 1, .outputs = 1}}},
      {"median_dim", {element_gradient, {.outputs = 0b10}}},
      {"nanmedian_dim", {element_gradient, {.outputs = 0b10}}},
      {"mode", {element_gradient, {.outputs = 0b10}}},
      {"nanmedian", {evenly_shared, {.inputs = 1, .outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
