#include "core/ops/shapes/unfolding.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/kernels/places.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

namespace {

// Returns the places along the dim of the elements of all windows, one window after another.
Places window_places(const Unfold& windows, std::int64_t count) {
  Places places;
  for (std::int64_t window = 0; window < count; ++window)
    for (std::int64_t i = 0; i < windows.size; ++i) places.push_back(window * windows.step + i);
  return places;
}

// Adds up the gradients of overlapping windows. The elements at one place of all windows are `step`
// apart in the tensor. Exact sums are rounded once; other arithmetics add one place after the
// other.
Tensor added_by_places(const Tensor& g, const Unfold& windows, const Shape& shape) {
  std::int64_t count = g.shape()[std::size_t(windows.dim)];
  std::vector<Tensor> terms = {new_zeros(g, shape)};
  for (std::int64_t i = 0; count > 0 && i < windows.size; ++i) {
    SliceRange range = {.dim = windows.dim,
                        .start = i,
                        .end = i + (count - 1) * windows.step + 1,
                        .step = windows.step};
    terms.push_back(slice_backward(select(g, -1, i), shape, range));
  }
  if (current_arithmetic().is_exact()) return sum(stack(terms), 0);
  Tensor total = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) total = total + terms[i];
  return total;
}

// The gradients of overlapping windows add up.
Gradients unfold_gradient(const GradientCall& call) {
  const Shape& shape = call.input_type(0).shape;
  Unfold windows = {.dim = indexed_dim(call.attributes(), shape),
                    .size = call.attributes().get(attribute::window_size),
                    .step = call.attributes().get(attribute::step)};
  Tensor g = call.gradient();
  if (shape.empty()) return {reshape(sum(g, 0), shape)};
  if (g.distribution()) {
    KeepUnrounded scope(call.is_unfinished(0));
    return {added_by_places(g, windows, shape)};
  }
  Tensor joined = flatten(movedim(g, -1, windows.dim + 1), windows.dim, windows.dim + 1);
  Places places = window_places(windows, call.output_type().shape[std::size_t(windows.dim)]);
  Tensor indices = vector_of<std::int64_t>(places);
  KeepUnrounded scope(call.is_unfinished(0));
  return {index_add(new_zeros(g, shape), windows.dim, indices, joined)};
}

}  // namespace

void unfolding_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"unfold", {unfold_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
