#include "core/ops/shapes/unfolding.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/dim_list.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/places.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Unfold unfold_of(const Attributes& attributes, const Shape& shape) {
  Unfold windows = {.dim = indexed_dim(attributes, shape),
                    .size = attributes.get<std::int64_t>("size"),
                    .step = attributes.get<std::int64_t>("step")};
  std::int64_t length = shape.empty() ? 1 : shape[std::size_t(windows.dim)];
  if (windows.size < 0 || windows.size > length)
    raise(ErrorKind::runtime_error, "unfold",
          "maximum size for tensor at dimension {} is {} but size is {}", windows.dim, length,
          windows.size);
  if (windows.step < 1)
    raise(ErrorKind::runtime_error, "unfold", "step is {} but must be > 0", windows.step);
  return windows;
}

std::vector<Tensor> unfold_view(gsl::span<const Tensor> inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  Unfold windows = unfold_of(attributes, x.shape());
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::int64_t stride = 1;
  if (!shape.empty()) {
    auto dim = std::size_t(windows.dim);
    stride = strides[dim];
    shape[dim] = (shape[dim] - windows.size) / windows.step + 1;
    strides[dim] *= windows.step;
  }
  shape.push_back(windows.size);
  strides.push_back(stride);
  return {Tensor(x.storage(), x.dtype(), shape, strides, x.storage_offset())};
}

// The places along the dim of the elements of all windows, one window after another.
Places window_places(const Unfold& windows, std::int64_t count) {
  Places places;
  for (std::int64_t window = 0; window < count; ++window)
    for (std::int64_t i = 0; i < windows.size; ++i) places.push_back(window * windows.step + i);
  return places;
}

// Windows that overlap add up.
Gradients unfold_gradient(const GradientCall& call) {
  const Shape& shape = call.input_type(0).shape;
  Unfold windows = unfold_of(call.attributes(), shape);
  Tensor g = call.gradient();
  if (shape.empty()) return {reshape(sum(g, 0), shape)};
  Tensor joined = flatten(movedim(g, -1, windows.dim + 1), windows.dim, windows.dim + 1);
  Places places = window_places(windows, call.output_type().shape[std::size_t(windows.dim)]);
  Tensor indices = empty({std::int64_t(places.size())}, DType::int64);
  std::copy(places.begin(), places.end(), indices.mutable_values<std::int64_t>().begin());
  UnroundedSums scope(call.is_unfinished(0));
  return {index_add(new_zeros(g, shape), windows.dim, indices, joined)};
}

const Op unfold_op = {.name = "unfold", .view = unfold_view, .gradient = unfold_gradient};

}  // namespace

Tensor unfold(const Tensor& x, const Unfold& windows) {
  return call_one(unfold_op, {x},
                  {{"dim", wrapped_dim(windows.dim, x.shape().size())},
                   {"size", windows.size},
                   {"step", windows.step}});
}

gsl::span<const Op* const> unfolding_ops() {
  static const Op* const ops[] = {&unfold_op};
  return ops;
}

}  // namespace simmesh
