#include "core/ops/indexing/gathering.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/kernels/places.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Gradients embedding_gradient(const GradientCall& call) {
  std::int64_t padding = call.attributes().get_or(attribute::padding_idx, -1);
  KeepUnrounded scope(call.is_unfinished(0));
  return {embedding_dense_backward(call.gradient(), call.input(1),
                                   {call.input_type(0).shape[0], padding}),
          Tensor()};
}

Gradients embedding_backward_gradient(const GradientCall& call) {
  const Tensor& indices = call.input(1);
  Tensor rows = embedding(call.gradient(), indices);
  std::int64_t padding = call.attributes().get(attribute::padding_idx);
  if (padding >= 0) rows = masked_fill(rows, unsqueeze(eq(indices, padding), -1), 0);
  return {rows, Tensor()};
}

Gradients gather_gradient(const GradientCall& call) {
  Tensor g = call.gradient();
  KeepUnrounded scope(call.is_unfinished(0));
  return {scatter_add(new_zeros(g, call.input_type(0).shape), call.attributes().get(attribute::dim),
                      call.input(1), g),
          Tensor()};
}

Gradients index_select_gradient(const GradientCall& call) {
  Tensor g = call.gradient();
  std::int64_t dim = indexed_dim(call.attributes(), call.input_type(0).shape);
  KeepUnrounded scope(call.is_unfinished(0));
  return {index_add(new_zeros(g, call.input_type(0).shape), dim, call.input(1), g), Tensor()};
}

// Each place collects the gradients of the elements that were read there.
Gradients take_gradient(const GradientCall& call) {
  Tensor g = call.gradient();
  const Tensor& places = call.input(1);
  const Shape& shape = call.input_type(0).shape;
  std::int64_t count = numel(shape);
  Tensor ascending = where(lt(places, 0), add(places, count), places);
  KeepUnrounded scope(call.is_unfinished(0));
  Tensor sums = index_put(new_zeros(g, Dims{count}), {ascending}, g, true);
  return {reshape(sums, shape), Tensor()};
}

}  // namespace

void gathering_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"embedding", {embedding_gradient, {.inputs = 0b10}}},
      {"embedding_dense_backward", {embedding_backward_gradient, {.inputs = 0b10}}},
      {"gather", {gather_gradient, {.inputs = 0b10}}},
      {"take", {take_gradient, {.inputs = 0b10}}},
      {"index_select", {index_select_gradient, {.inputs = 0b10}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
