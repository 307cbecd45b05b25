#include "core/ops/indexing/indexing.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/compute_mode.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

Gradients index_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  std::vector<Tensor> indices;
  for (std::size_t i = 1; i < call.input_count(); ++i) indices.push_back(call.input(i));
  Tensor g = call.gradient();
  KeepUnrounded scope(call.is_unfinished(0));
  gradients[0] = index_put(new_zeros(g, call.input_type(0).shape), indices, g, true);
  return gradients;
}

Gradients index_put_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  std::vector<Tensor> indices;
  for (std::size_t i = 2; i < call.input_count(); ++i) indices.push_back(call.input(i));
  Tensor g = call.gradient();
  bool adds = call.attributes().get_or(attribute::accumulate, false);
  if (call.needs(0)) gradients[0] = adds ? g : index_put(g, indices, new_zeros(g, Shape{}));
  if (call.needs(1)) gradients[1] = summed_to_input(call, 1, index(g, indices));
  return gradients;
}

}  // namespace

void indexing_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"index", {index_gradient, {.inputs = Saves::all ^ 1u}}},
      {"index_put", {index_put_gradient, {.inputs = Saves::all ^ 3u}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
