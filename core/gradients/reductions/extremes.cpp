#include "core/gradients/gradient_table.h"
#include "core/gradients/spread.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

// Elements that equal the result share the gradient.
Gradients shared_gradient(const GradientCall& call) {
  Tensor winners = eq(call.input(0), kept(call, call.output()));
  Dims dims = reduced_dims(call.attributes(), call.input_type(0).shape.size());
  Tensor g = kept(call, call.gradient()) * winners;
  return {dims.empty() ? g : g / sum(winners, dims, true)};
}

Gradients extreme_gradient(const GradientCall& call) {
  std::size_t rank = call.input_type(0).shape.size();
  bool is_of_all = reduced_dims(call.attributes(), rank).size() == rank;
  return is_of_all ? evenly_shared(call) : shared_gradient(call);
}

// The element that the index selects gets the whole gradient.
Gradients indexed_gradient(const GradientCall& call) {
  const Shape& shape = call.input_type(0).shape;
  Tensor g = call.gradient(0);
  if (shape.empty()) return {g};
  std::int64_t dim = reduced_dims(call.attributes(), shape.size())[0];
  Tensor into = new_zeros(g, shape);
  return {scatter_add(into, dim, kept(call, call.output(1)), kept(call, g))};
}

// Each of the two results gives its part; PyTorch leaves out the one that got no gradient.
Gradients smallest_and_largest_gradient(const GradientCall& call) {
  Dims dims = reduced_dims(call.attributes(), call.input_type(0).shape.size());
  Tensor result;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!call.has_gradient(i)) continue;
    Tensor winners = eq(call.input(0), kept(call, call.output(i)));
    Tensor g = kept(call, call.gradient(i));
    if (!dims.empty()) g = g / sum(winners, dims, true);
    g = g * winners;
    result = result.is_defined() ? result + g : g;
  }
  return {result};
}

}  // namespace

void extremes_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"amax", {shared_gradient, {.inputs = 1, .outputs = 1}}},
      {"amin", {shared_gradient, {.inputs = 1, .outputs = 1}}},
      {"aminmax", {smallest_and_largest_gradient, {.inputs = 1, .outputs = 0b11}}},
      {"max", {extreme_gradient, {.inputs = 1, .outputs = 1}}},
      {"min", {extreme_gradient, {.inputs = 1, .outputs = 1}}},
      {"max.dim", {indexed_gradient, {.outputs = 0b10}}},
      {"min.dim", {indexed_gradient, {.outputs = 0b10}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
