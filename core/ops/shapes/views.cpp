#include "core/ops/shapes/views.h"

#include <algorithm>
#include <cstring>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/dim_list.h"
#include "core/ops/op_list.h"
#include "core/ops/shapes/aliases.h"
#include "core/ops/view_arguments.h"
#include "core/ops/view_shapes.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

std::int64_t wrapped(std::int64_t dim, const Tensor& x) {
  return wrapped_dim(dim, x.shape().size());
}

Tensor restrided(const Tensor& x, Shape shape, Strides strides, std::int64_t offset) {
  return Tensor(x.storage(), x.dtype(), std::move(shape), std::move(strides), offset);
}

std::vector<Tensor> view_rule(Inputs inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  Shape shape = shape_of_sizes(attributes.get(attribute::size), x.numel(), "view");
  Strides strides;
  if (!view_strides(x, shape, strides))
    raise(ErrorKind::runtime_error, "view",
          "view size is not compatible with input tensor's size and stride (at least one dimension "
          "spans across two contiguous subspaces). Use reshape instead; got the shape {} for {} "
          "with strides {}",
          to_string(DimSpan(shape)), to_string(DimSpan(x.shape())),
          to_string(DimSpan(x.strides())));
  return {restrided(x, std::move(shape), std::move(strides), x.storage_offset())};
}

const Op view_op = {.name = "view", .view = view_rule};

// A view that may redistribute a distributed tensor first, where view raises.
const Op reshape_op = {.name = "reshape", .view = view_rule};

const Op transpose_op = {
    .name = "transpose",
    .view = [](Inputs inputs, const Attributes& attributes) -> std::vector<Tensor> {
      const Tensor& x = inputs[0];
      std::int64_t dim0 = wrapped(attributes.get(attribute::dim0), x);
      std::int64_t dim1 = wrapped(attributes.get(attribute::dim1), x);
      return {x.dim() == 0 ? x : x.transpose(dim0, dim1)};
    },
};

const Op t_op = {
    .name = "t",
    .view = [](Inputs inputs, const Attributes&) -> std::vector<Tensor> {
      return {inputs[0].dim() < 2 ? inputs[0] : inputs[0].transpose(0, 1)};
    },
};

const Op permute_op = {
    .name = "permute",
    .view = [](Inputs inputs, const Attributes& attributes) -> std::vector<Tensor> {
      const Tensor& x = inputs[0];
      return {x.permute(wrapped_order(attributes.get(attribute::dims), x.shape().size()))};
    },
};

const Op squeeze_op = {
    .name = "squeeze",
    .view = [](Inputs inputs, const Attributes& attributes) -> std::vector<Tensor> {
      const Tensor& x = inputs[0];
      Dims dims = wrapped_dims(attributes.get(attribute::squeezed_dims), x.shape().size());
      Shape shape;
      Strides strides;
      for (std::int64_t dim = 0; dim < x.dim(); ++dim) {
        if (x.size(dim) == 1 && std::find(dims.begin(), dims.end(), dim) != dims.end()) continue;
        shape.push_back(x.size(dim));
        strides.push_back(x.strides()[std::size_t(dim)]);
      }
      return {restrided(x, std::move(shape), std::move(strides), x.storage_offset())};
    },
};

const Op unsqueeze_op = {
    .name = "unsqueeze",
    .view = [](Inputs inputs, const Attributes& attributes) -> std::vector<Tensor> {
      const Tensor& x = inputs[0];
      return {x.unsqueeze(wrapped_dim(attributes.get(attribute::dim), x.shape().size() + 1))};
    },
};

std::vector<Tensor> expand_rule(Inputs inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  const Dims& size = attributes.get(attribute::size);
  if (std::int64_t(size.size()) < x.dim())
    raise(ErrorKind::runtime_error, "expand",
          "the number of sizes provided ({}) must be greater or equal to the number of dimensions "
          "in the tensor ({})",
          size.size(), x.dim());
  Shape shape = size;
  Strides strides(size.size(), 0);
  std::size_t added = size.size() - x.shape().size();
  for (std::size_t dim = 0; dim < size.size(); ++dim) {
    bool is_new = dim < added;
    if (size[dim] < (is_new ? 0 : -1))
      raise(ErrorKind::runtime_error, "expand",
            "The expanded size of the tensor ({}) isn't allowed in a leading, non-existing "
            "dimension {}",
            size[dim], dim);
    if (is_new) continue;
    std::int64_t had = x.shape()[dim - added];
    if (size[dim] == -1) shape[dim] = had;
    if (shape[dim] == had)
      strides[dim] = x.strides()[dim - added];
    else if (had != 1)
      raise(ErrorKind::runtime_error, "expand",
            "The expanded size of the tensor ({}) must match the existing size ({}) at "
            "non-singleton dimension {}. Target sizes: {}. Tensor sizes: {}",
            shape[dim], had, dim, to_string(DimSpan(size)), to_string(DimSpan(x.shape())));
  }
  return {restrided(x, std::move(shape), std::move(strides), x.storage_offset())};
}

const Op expand_op = {
    .name = "expand",
    .view = expand_rule,
};

Tensor sliced(const Tensor& x, const SliceRange& range) {
  std::size_t dim = std::size_t(range.dim);
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::int64_t length = range.end - range.start;
  shape[dim] = length / range.step + (length % range.step != 0);
  std::int64_t offset = x.storage_offset() + range.start * strides[dim];
  strides[dim] *= range.step;
  return restrided(x, std::move(shape), std::move(strides), offset);
}

const Op slice_op = {
    .name = "slice",
    .view = [](Inputs inputs, const Attributes& attributes) -> std::vector<Tensor> {
      return {sliced(inputs[0], slice_of(attributes, inputs[0].shape()))};
    },
};

Tensor selected(const Tensor& x, const Attributes& attributes) {
  if (x.dim() == 0)
    raise(ErrorKind::index_error, "select", "select() cannot be applied to a 0-dim tensor.");
  std::int64_t at = wrapped(attributes.get(attribute::dim), x);
  std::int64_t index = attributes.get(attribute::index);
  if (index < -x.size(at) || index >= x.size(at))
    raise(ErrorKind::index_error, "select",
          "select(): index {} out of range for tensor of size {} at dimension {}", index,
          to_string(DimSpan(x.shape())), at);
  if (index < 0) index += x.size(at);
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::int64_t offset = x.storage_offset() + index * strides[std::size_t(at)];
  shape.erase(shape.begin() + at);
  strides.erase(strides.begin() + at);
  return restrided(x, std::move(shape), std::move(strides), offset);
}

const Op select_op = {
    .name = "select",
    .view = [](Inputs inputs, const Attributes& attributes) -> std::vector<Tensor> {
      return {selected(inputs[0], attributes)};
    },
};

Tensor diagonal_view(const Tensor& x, const Diagonal& which) {
  std::int64_t dim0 = wrapped(which.dim0, x), dim1 = wrapped(which.dim1, x);
  if (dim0 == dim1)
    raise(ErrorKind::runtime_error, "diagonal", "diagonal dimensions cannot be identical {}, {}",
          which.dim0, which.dim1);
  std::int64_t rows = x.size(dim0) + std::min<std::int64_t>(which.offset, 0);
  std::int64_t columns = x.size(dim1) - std::max<std::int64_t>(which.offset, 0);
  std::int64_t length = std::max<std::int64_t>(std::min(rows, columns), 0);
  std::int64_t row_stride = x.strides()[std::size_t(dim0)];
  std::int64_t column_stride = x.strides()[std::size_t(dim1)];
  std::int64_t offset = x.storage_offset();
  if (length > 0)
    offset += which.offset >= 0 ? which.offset * column_stride : -which.offset * row_stride;
  Shape shape;
  Strides strides;
  for (std::int64_t dim = 0; dim < x.dim(); ++dim) {
    if (dim == dim0 || dim == dim1) continue;
    shape.push_back(x.size(dim));
    strides.push_back(x.strides()[std::size_t(dim)]);
  }
  shape.push_back(length);
  strides.push_back(row_stride + column_stride);
  return restrided(x, std::move(shape), std::move(strides), offset);
}

const Op diagonal_op = {
    .name = "diagonal",
    .view = [](Inputs inputs, const Attributes& attributes) -> std::vector<Tensor> {
      return {diagonal_view(inputs[0], diagonal_of(attributes))};
    },
};

std::vector<Tensor> split_rule(Inputs inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  if (x.dim() == 0)
    raise(ErrorKind::runtime_error, "split_with_sizes",
          "split expects at least a 1-dimensional tensor");
  std::int64_t dim = wrapped(attributes.get(attribute::dim), x);
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (std::int64_t size : attributes.get(attribute::split_sizes)) {
    if (size < 0 || start + size > x.size(dim)) start = x.size(dim) + 1;
    if (start > x.size(dim)) break;
    parts.push_back(x.narrow({.dim = dim, .start = start, .length = size}));
    start += size;
  }
  if (start != x.size(dim))
    raise(ErrorKind::runtime_error, "split_with_sizes",
          "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at "
          "dimension {}), but got split_sizes={}",
          x.size(dim), dim, to_string(DimSpan(attributes.get(attribute::split_sizes))));
  return parts;
}

const Op split_op = {
    .name = "split_with_sizes",
    .view = split_rule,
    .makes_several = true,
};

const Op unbind_op = {
    .name = "unbind",
    .view = [](Inputs inputs, const Attributes& attributes) -> std::vector<Tensor> {
      const Tensor& x = inputs[0];
      std::int64_t dim = wrapped(attributes.get(attribute::dim), x);
      if (x.dim() == 0)
        raise(ErrorKind::index_error, "unbind",
              "Dimension specified as {} but tensor has no "
              "dimensions",
              dim);
      std::vector<Tensor> parts;
      for (std::int64_t i = 0; i < x.size(dim); ++i)
        parts.push_back(selected(x, {attribute::dim = dim, attribute::index = i}));
      return parts;
    },
    .makes_several = true,
};

const Op clone_op = {
    .name = "clone",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes { return {inputs[0]}; },
    .kernel = [](Inputs inputs, const Attributes&,
                 gsl::span<Tensor> outputs) { adopt_(outputs[0], inputs[0]); },
    .moves = true,
};

// The ops that write a gradient where a view reads differ only in the view.
using PartOf = Tensor (*)(const Tensor& whole, const Attributes& attributes);

Op backward_of(const char* name, PartOf part) {
  return {
      .name = name,
      .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
        return {{attributes.get(attribute::input_sizes), inputs[0].dtype}};
      },
      .kernel =
          [part](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
            if (outputs[0].numel() == 0) return;
            std::memset(outputs[0].mutable_data(), 0, outputs[0].bytes());
            Tensor target = part(outputs[0], attributes);
            copy_(target, inputs[0]);
          },
  };
}

const Op slice_backward_op =
    backward_of("slice_backward", [](const Tensor& whole, const Attributes& attributes) {
      return sliced(whole, slice_of(attributes, whole.shape()));
    });

const Op select_backward_op = backward_of("select_backward", selected);

const Op diagonal_backward_op =
    backward_of("diagonal_backward", [](const Tensor& whole, const Attributes& attributes) {
      return diagonal_view(whole, diagonal_of(attributes));
    });

}  // namespace

Tensor view(const Tensor& x, DimSpan shape) {
  return call_one(view_op, {x}, {attribute::size = shape_of_sizes(shape, x.numel(), "view")});
}

Tensor reshape(const Tensor& x, DimSpan sizes) {
  Shape shape = shape_of_sizes(sizes, x.numel(), "reshape");
  if (shape == x.shape()) {
    Tensor same = x;
    if (!grad_enabled() && x.storage()) same.make_view(x, ViewKind::unrecorded);
    return same;
  }
  Strides strides;
  bool is_view = x.distribution() || view_strides(x, shape, strides);
  return call_one(view_op, {is_view ? x : clone(x)}, {attribute::size = shape});
}

Tensor flatten(const Tensor& x, std::int64_t first, std::int64_t last) {
  first = wrapped(first, x);
  last = wrapped(last, x);
  if (first > last)
    raise(ErrorKind::runtime_error, "flatten",
          "flatten() has invalid args: start_dim cannot come after end_dim");
  if (x.dim() == 0) return reshape(x, {1});
  if (first == last) return x;
  Shape shape(x.shape().begin(), x.shape().begin() + first);
  shape.push_back(
      numel(DimSpan(x.shape()).subspan(std::size_t(first), std::size_t(last - first + 1))));
  shape.insert(shape.end(), x.shape().begin() + last + 1, x.shape().end());
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, std::int64_t dim, DimSpan sizes) {
  dim = wrapped(dim, x);
  Shape inner = shape_of_sizes(sizes, x.size(dim), "unflatten");
  Shape shape(x.shape().begin(), x.shape().begin() + dim);
  shape.insert(shape.end(), inner.begin(), inner.end());
  shape.insert(shape.end(), x.shape().begin() + dim + 1, x.shape().end());
  return view(x, shape);
}

Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  return call_one(transpose_op, {x},
                  {attribute::dim0 = wrapped(dim0, x), attribute::dim1 = wrapped(dim1, x)});
}

Tensor t(const Tensor& x) {
  if (x.dim() > 2)
    raise(ErrorKind::runtime_error, "t",
          "t() expects a tensor with <= 2 dimensions, but self is {}D", x.dim());
  return x.dim() < 2 && x.distribution() ? x : call_one(t_op, {x});
}

Tensor permute(const Tensor& x, DimSpan dims) {
  return call_one(permute_op, {x}, {attribute::dims = wrapped_order(dims, x.shape().size())});
}

Tensor movedim(const Tensor& x, std::int64_t source, std::int64_t destination) {
  source = wrapped(source, x);
  destination = wrapped(destination, x);
  Dims order;
  for (std::int64_t dim = 0; dim < x.dim(); ++dim)
    if (dim != source) order.push_back(dim);
  if (x.dim() > 0) order.insert(order.begin() + destination, source);
  return permute(x, order);
}

namespace {

// Returns a view that is like the tensor: an op in place that is refused for views is refused for
// it.
Tensor like_itself(const Tensor& x) { return x.distribution() ? x : alias(x); }

}  // namespace

Tensor squeeze(const Tensor& x) {
  Dims dims;
  for (std::int64_t dim = 0; dim < x.dim(); ++dim)
    if (x.size(dim) == 1) dims.push_back(dim);
  if (dims.empty()) return like_itself(x);
  return call_one(squeeze_op, {x}, {attribute::squeezed_dims = dims});
}

Tensor squeeze(const Tensor& x, std::int64_t dim) {
  dim = wrapped(dim, x);
  if (x.dim() == 0 || x.size(dim) != 1) return like_itself(x);
  return call_one(squeeze_op, {x}, {attribute::squeezed_dims = Dims{dim}});
}

Tensor unsqueeze(const Tensor& x, std::int64_t dim) {
  return call_one(unsqueeze_op, {x}, {attribute::dim = wrapped_dim(dim, x.shape().size() + 1)});
}

Tensor expand(const Tensor& x, DimSpan shape) {
  return call_one(expand_op, {x}, {attribute::size = Dims(shape.begin(), shape.end())});
}

Tensor expand_as(const Tensor& x, const Tensor& other) { return expand(x, other.shape()); }

Tensor narrow(const Tensor& x, const Tensor::Narrow& range) {
  if (x.dim() == 0)
    raise(ErrorKind::runtime_error, "narrow", "narrow() cannot be applied to a 0-dim tensor.");
  std::int64_t size = x.size(wrapped(range.dim, x)), start = range.start;
  if (range.length < 0)
    raise(ErrorKind::runtime_error, "narrow", "narrow(): length must be non-negative.");
  if (start < -size || start > size)
    raise(ErrorKind::index_error, "narrow",
          "start out of range (expected to be in range of [{}, {}], but got {})", -size, size,
          start);
  if (start < 0) start += size;
  if (start > size - range.length)
    raise(ErrorKind::runtime_error, "narrow",
          "start ({}) + length ({}) exceeds dimension size ({}).", start, range.length, size);
  return slice(x, {.dim = range.dim, .start = start, .end = start + range.length});
}

Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index) {
  return call_one(select_op, {x}, {attribute::dim = wrapped(dim, x), attribute::index = index});
}

Tensor slice(const Tensor& x, const SliceRange& range) {
  return call_one(slice_op, {x}, slice_attributes(slice_of(slice_attributes(range), x.shape())));
}

Tensor diagonal(const Tensor& x, const Diagonal& which) {
  return call_one(diagonal_op, {x}, diagonal_attributes(which));
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dim) {
  std::int64_t total = x.dim() == 0 ? 0 : x.size(wrapped(dim, x));
  if (size < 0 || (size == 0 && total > 0))
    raise(ErrorKind::runtime_error, "split",
          "split expects split_size be non-negative, and 0 only for a dim of size 0; got "
          "split_size={} for size {}",
          size, total);
  Dims sizes;
  for (std::int64_t start = 0; start < total; start += size)
    sizes.push_back(std::min(size, total - start));
  if (sizes.empty()) sizes.push_back(0);
  return split(x, DimSpan(sizes), dim);
}

std::vector<Tensor> split(const Tensor& x, DimSpan sizes, std::int64_t dim) {
  return call(split_op, {x},
              {attribute::split_sizes = Dims(sizes.begin(), sizes.end()),
               attribute::dim = wrapped(dim, x)});
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim) {
  if (x.dim() == 0)
    raise(ErrorKind::runtime_error, "chunk", "chunk expects at least a 1-dimensional tensor");
  if (chunks < 1)
    raise(ErrorKind::runtime_error, "chunk", "chunk expects `chunks` to be greater than 0, got: {}",
          chunks);
  std::int64_t total = x.size(wrapped(dim, x));
  if (total == 0) return split(x, DimSpan(Dims(std::size_t(chunks), 0)), dim);
  return split(x, total / chunks + (total % chunks != 0), dim);
}

std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim) {
  return call(unbind_op, {x}, {attribute::dim = wrapped(dim, x)});
}

Tensor contiguous(const Tensor& x) { return x.is_contiguous() ? x : clone(x); }

Tensor clone(const Tensor& x) { return call_one(clone_op, {x}); }

Tensor detach(const Tensor& x) { return x.detach(); }

Tensor slice_backward(const Tensor& gradient, DimSpan shape, const SliceRange& range) {
  Attributes attributes = slice_attributes(range);
  attributes.set(attribute::input_sizes = Dims(shape.begin(), shape.end()));
  return call_one(slice_backward_op, {gradient}, attributes);
}

Tensor select_backward(const Tensor& gradient, DimSpan shape, std::int64_t dim,
                       std::int64_t index) {
  return call_one(select_backward_op, {gradient},
                  {attribute::input_sizes = Dims(shape.begin(), shape.end()), attribute::dim = dim,
                   attribute::index = index});
}

Tensor diagonal_backward(const Tensor& gradient, DimSpan shape, const Diagonal& which) {
  Attributes attributes = diagonal_attributes(which);
  attributes.set(attribute::input_sizes = Dims(shape.begin(), shape.end()));
  return call_one(diagonal_backward_op, {gradient}, attributes);
}

void views_ops(OpList& ops) {
  ops.add({&clone_op, &diagonal_op, &diagonal_backward_op, &expand_op, &permute_op, &select_op,
           &select_backward_op, &slice_op, &slice_backward_op, &split_op, &squeeze_op, &t_op,
           &transpose_op, &unbind_op, &unsqueeze_op, &view_op, &reshape_op});
}

}  // namespace simmesh
