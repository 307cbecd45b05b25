#include "core/nn/embedding.h"

#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/default_generator.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/shapes/views.h"

namespace simmesh::nn {

Embedding::Embedding(const Options& options) {
  Tensor weight = new_parameter(Dims{options.count, options.width}, options.parameters);
  normal_(weight, {}, default_generator().next());
  register_parameter("weight", weight);
}

Tensors Embedding::forward(const Tensors& inputs) {
  return {embedding(parameter("weight"), inputs[0])};
}

Position::Position(const Options& options) {
  Tensor weight = new_parameter(Dims{options.length, options.width}, options.parameters);
  normal_(weight, {.deviation = 0.02}, default_generator().next());
  register_parameter("weight", weight);
}

Tensors Position::forward(const Tensors& inputs) {
  const Tensor &x = inputs[0], &weight = parameter("weight");
  if (rows_) return {add(x, rows_(weight, x.size(1)))};
  if (x.size(1) == weight.size(0)) return {add(x, weight)};
  return {add(x, slice(weight, {.dim = 0, .end = x.size(1)}))};
}

}  // namespace simmesh::nn
