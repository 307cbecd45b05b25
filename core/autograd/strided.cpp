#include "core/autograd/strided.h"

#include <algorithm>

#include "core/ops/call.h"
#include "core/ops/gradient_call.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

Dims dims_of(DimSpan span) { return Dims(span.begin(), span.end()); }

Geometry geometry_in(const Dims& size, const Dims& strides, std::int64_t offset) {
  return {Shape(size.begin(), size.end()), Strides(strides.begin(), strides.end()), offset};
}

Geometry base_in(const Attributes& all) {
  return geometry_in(all.get(attribute::base_size), all.get(attribute::base_strides),
                     all.get(attribute::base_offset));
}

Geometry view_in(const Attributes& all) {
  return geometry_in(all.get(attribute::view_size), all.get(attribute::view_strides),
                     all.get(attribute::view_offset));
}

// Returns the number of elements up to the last of the two.
std::int64_t extent_of(const Geometry& base, const Geometry& view) {
  std::int64_t extent = 0;
  for (const Geometry* one : {&base, &view}) {
    if (numel(one->shape) == 0) continue;
    std::int64_t last = one->offset;
    for (std::size_t dim = 0; dim < one->shape.size(); ++dim)
      last += (one->shape[dim] - 1) * one->strides[dim];
    extent = std::max(extent, last + 1);
  }
  return extent;
}

Tensor part_of(const Tensor& flat, const Geometry& place) {
  return Tensor(flat.storage(), flat.dtype(), place.shape, place.strides, place.offset);
}

// Adds the elements one after the other, since several may have one place.
void add_at(Tensor& flat, const Tensor& elements, const Geometry& view) {
  visit_dtype(flat.dtype(), [&]<class T>(T) {
    Tensor rows = elements.contiguous();
    auto from = rows.values<T>();
    auto to = flat.mutable_values<T>();
    Dims at(view.shape.size(), 0);
    for (const T& element : from) {
      std::int64_t place = view.offset;
      for (std::size_t dim = 0; dim < at.size(); ++dim) place += at[dim] * view.strides[dim];
      T& sum = to[std::size_t(place)];
      sum = rounded_to<T>(double(sum) + double(element));
      for (std::size_t dim = at.size(); dim-- > 0;) {
        if (++at[dim] < view.shape[dim]) break;
        at[dim] = 0;
      }
    }
  });
}

// True if every dim steps over all elements of the smaller ones, so that none is at one place with
// another.
bool is_apart(const Geometry& view) {
  Dims order;
  for (std::size_t dim = 0; dim < view.shape.size(); ++dim)
    if (view.shape[dim] != 1) order.push_back(std::int64_t(dim));
  std::sort(order.begin(), order.end(), [&view](std::int64_t a, std::int64_t b) {
    return view.strides[std::size_t(a)] < view.strides[std::size_t(b)];
  });
  std::int64_t reach = 0;
  for (std::int64_t dim : order) {
    std::int64_t stride = view.strides[std::size_t(dim)];
    if (stride <= reach) return false;
    reach += (view.shape[std::size_t(dim)] - 1) * stride;
  }
  return true;
}

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

Gradients scatter_strided_gradient(const GradientCall& call);
Gradients gather_strided_gradient(const GradientCall& call);
Gradients put_strided_gradient(const GradientCall& call);

const Op gather_strided_op = {
    .name = "gather_strided",
    .shape = [](Types inputs, const Attributes& all) -> TensorTypes {
      return {{view_in(all).shape, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& all, gsl::span<Tensor> outputs) {
          Geometry base = base_in(all), view = view_in(all);
          Tensor flat = zeros({extent_of(base, view)}, inputs[0].dtype());
          Tensor whole = part_of(flat, base);
          copy_(whole, inputs[0]);
          copy_(outputs[0], part_of(flat, view));
        },
    .gradient = {gather_strided_gradient},
    .moves = true,
};

// Returns zeros of the base's shape with the elements at the view's places.
const Op scatter_strided_op = {
    .name = "scatter_strided",
    .shape = [](Types inputs, const Attributes& all) -> TensorTypes {
      return {{base_in(all).shape, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& all, gsl::span<Tensor> outputs) {
          Geometry base = base_in(all), view = view_in(all);
          Tensor flat = zeros({extent_of(base, view)}, inputs[0].dtype());
          Tensor part = part_of(flat, view);
          if (is_apart(view))
            copy_(part, inputs[0]);
          else
            add_at(flat, inputs[0], view);
          copy_(outputs[0], part_of(flat, base));
        },
    .gradient = {scatter_strided_gradient},
    .moves = true,
};

const Op put_strided_op = {
    .name = "put_strided",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes { return {inputs[0]}; },
    .kernel =
        [](Inputs inputs, const Attributes& all, gsl::span<Tensor> outputs) {
          Geometry base = base_in(all), view = view_in(all);
          Tensor flat = zeros({extent_of(base, view)}, inputs[0].dtype());
          Tensor whole = part_of(flat, base), part = part_of(flat, view);
          copy_(whole, inputs[0]);
          copy_(part, inputs[1]);
          copy_(outputs[0], whole);
        },
    .gradient = {put_strided_gradient},
    .moves = true,
};

// Adds up what the view repeats dim by dim, the last first, as PyTorch does.
Gradients strided_view_gradient(const GradientCall& call) {
  Geometry view = view_in(call.attributes());
  Tensor gradient = call.gradient();
  for (std::size_t dim = view.shape.size(); dim-- > 0;) {
    if (view.strides[dim] != 0 || view.shape[dim] == 1) continue;
    gradient = sum(gradient, {std::int64_t(dim)});
    view.shape.erase(view.shape.begin() + std::ptrdiff_t(dim));
    view.strides.erase(view.strides.begin() + std::ptrdiff_t(dim));
  }
  return {call_one(scatter_strided_op, {gradient},
                   strided_attributes(base_in(call.attributes()), view))};
}

const Op view_op_by_strides = {
    .name = "as_strided",
    .view = [](Inputs inputs, const Attributes& all) -> std::vector<Tensor> {
      return {part_of(inputs[0], view_in(all))};
    },
    .gradient = {strided_view_gradient},
};

Gradients gather_strided_gradient(const GradientCall& call) {
  return {call_one(scatter_strided_op, {call.gradient()}, call.attributes())};
}

Gradients scatter_strided_gradient(const GradientCall& call) {
  return {call_one(gather_strided_op, {call.gradient()}, call.attributes())};
}

Gradients put_strided_gradient(const GradientCall& call) {
  Geometry base = base_in(call.attributes()), view = view_in(call.attributes());
  Tensor elements = gather_strided(call.gradient(), base, view);
  return {put_strided(call.gradient(), zeros_like(elements), base, view), elements};
}

}  // namespace

Geometry geometry_of(const Tensor& tensor) {
  return {tensor.shape(), tensor.strides(), tensor.storage_offset()};
}

const Op& strided_view_op() { return view_op_by_strides; }

Attributes strided_attributes(const Geometry& base, const Geometry& view) {
  Attributes all = {attribute::base_size = dims_of(base.shape),
                    attribute::base_strides = dims_of(base.strides),
                    attribute::base_offset = base.offset};
  all.set(attribute::view_size = dims_of(view.shape));
  all.set(attribute::view_strides = dims_of(view.strides));
  all.set(attribute::view_offset = view.offset);
  return all;
}

Tensor gather_strided(const Tensor& gradient, const Geometry& base, const Geometry& view) {
  return call_one(gather_strided_op, {gradient}, strided_attributes(base, view));
}

Tensor put_strided(const Tensor& gradient, const Tensor& elements, const Geometry& base,
                   const Geometry& view) {
  return call_one(put_strided_op, {gradient, elements}, strided_attributes(base, view));
}

}  // namespace simmesh
