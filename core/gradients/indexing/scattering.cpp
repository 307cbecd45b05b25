#include "core/ops/indexing/scattering.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/source_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Gradients scatter_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  if (call.needs(0))
    gradients[0] =
        scatter(call.gradient(), call.attributes().get(attribute::dim), call.input(1), 0.0);
  if (call.needs(2)) gradients[2] = source_gradient(call, call.gradient());
  return gradients;
}

Gradients scatter_add_gradient(const GradientCall& call) {
  Gradients gradients(3);
  gradients[0] = call.gradient();
  if (call.needs(2)) gradients[2] = source_gradient(call, call.gradient());
  return gradients;
}

Gradients index_add_gradient(const GradientCall& call) {
  Gradients gradients(3);
  Tensor g = call.gradient();
  gradients[0] = g;
  double alpha = call.attributes().get_or(attribute::alpha, 1.0).as<double>();
  if (call.needs(2)) {
    Tensor source = index_select(g, call.attributes().get(attribute::dim), call.input(1));
    gradients[2] = alpha == 1 ? source : mul(source, alpha);
  }
  return gradients;
}

Gradients index_copy_gradient(const GradientCall& call) {
  Gradients gradients(3);
  Tensor g = call.gradient();
  auto dim = call.attributes().get(attribute::dim);
  if (call.needs(0)) gradients[0] = index_fill(g, dim, call.input(1), 0);
  if (call.needs(2)) {
    Tensor source = index_select(g, dim, call.input(1));
    gradients[2] = reshape(source, call.input_type(2).shape);
  }
  return gradients;
}

Gradients index_fill_gradient(const GradientCall& call) {
  return {index_fill(call.gradient(), call.attributes().get(attribute::dim), call.input(1), 0),
          Tensor()};
}

}  // namespace

void scattering_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"scatter", {scatter_gradient, {.inputs = 0b10}}},
      {"scatter_add", {scatter_add_gradient, {.inputs = 0b10}}},
      {"index_add", {index_add_gradient, {.inputs = 0b10}}},
      {"index_copy", {index_copy_gradient, {.inputs = 0b10}}},
      {"index_fill", {index_fill_gradient, {.inputs = 0b10}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
