#include <algorithm>
#include <cstring>

#include <simmesh/core/check/error.h>
#include <simmesh/core/ops/call.h>
#include <simmesh/core/ops/comparison.h>
#include <simmesh/core/ops/dim_list.h>
#include <simmesh/core/ops/factories.h>
#include <simmesh/core/ops/gathering.h>
#include <simmesh/core/ops/gradient_call.h>
#include <simmesh/core/ops/places.h>
#include <simmesh/core/ops/pointwise.h>
#include <simmesh/core/ops/promotion.h>
#include <simmesh/core/ops/rearranging.h>
#include <simmesh/core/ops/selection.h>
#include <simmesh/core/ops/views.h>
#include <simmesh/core/tensor/convert.h>

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

std::int64_t dim_of(const Attributes& attributes, const Shape& shape) {
  return wrapped_dim(attributes.get<std::int64_t>("dim"), shape.size());
}

// A scalar is indexed like a vector of one element.
Shape with_dims(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

std::int64_t block_after(const Shape& shape, std::int64_t dim) {
  return element_count(DimSpan(shape).subspan(std::size_t(dim) + 1));
}

void check_matching(bool matches, const char* where, const Shape& index, const Shape& other) {
  if (!matches)
    raise(ErrorKind::runtime_error, where,
          "expected an index that fits the tensor, got the shapes {} and {}",
          to_string(DimSpan(index)), to_string(DimSpan(other)));
}

// The rows of carried sums whose index isn't the padding.
Gradient carried_rows(const GradientCall& call, std::size_t input, const Tensor& indices,
                      const Tensor& rows, std::int64_t padding) {
  const TensorType& type = call.input_type(input);
  Tensor flat = converted(indices.detach(), DType::int64).contiguous();
  Places kept, places;
  std::int64_t at = 0;
  for (std::int64_t index : flat.values<std::int64_t>()) {
    if (index != padding) {
      kept.push_back(at);
      places.push_back(index);
    }
    ++at;
  }
  Shape shape = type.shape;
  shape[0] = std::int64_t(kept.size());
  Tensor kept_rows = empty(shape, rows.dtype());
  take_blocks(rows.contiguous(), kept, block_after(type.shape, 0), kept_rows);
  Tensor kept_indices = empty({shape[0]}, DType::int64);
  std::copy(places.begin(), places.end(), kept_indices.mutable_values<std::int64_t>().begin());
  CarriedSum sum(type.shape, type.dtype);
  sum.add_rows(kept_indices, kept_rows);
  return sum;
}

TensorTypes embedding_type(Types inputs, const Attributes& attributes) {
  const TensorType &weight = inputs[0], &indices = inputs[1];
  check_index_type(indices, "embedding");
  if (weight.shape.size() != 2)
    raise(ErrorKind::runtime_error, "embedding", "'weight' must be 2-D, got {}",
          to_string(DimSpan(weight.shape)));
  std::int64_t padding = attributes.get_or<std::int64_t>("padding_idx", -1);
  if (padding >= weight.shape[0])
    raise(ErrorKind::assertion_error, "embedding",
          "Padding_idx must be within num_embeddings, got {} of {}", padding, weight.shape[0]);
  TensorType result = {indices.shape, weight.dtype};
  result.shape.push_back(weight.shape[1]);
  return {result};
}

const Op embedding_op = {
    .name = "embedding",
    .shape = embedding_type,
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          const Tensor& weight = inputs[0];
          Places places =
              checked_indices(inputs[1], {.size = weight.size(0), .where = "embedding"});
          take_blocks(weight.contiguous(), places, weight.size(1), outputs[0]);
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      std::int64_t padding = call.attributes().get_or<std::int64_t>("padding_idx", -1);
      if (call.carries(0))
        return {carried_rows(call, 0, call.input(1), call.gradient(), padding), Gradient()};
      return {embedding_dense_backward(call.gradient(), call.input(1),
                                       {call.input_type(0).shape[0], padding}),
              Gradient()};
    },
    .saves = {.inputs = 0b10},
};

const Op embedding_backward_op = {
    .name = "embedding_dense_backward",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      return {
          {{attributes.get<std::int64_t>("num_weights"), inputs[0].shape.back()}, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor& out = outputs[0];
          Places places = checked_indices(
              inputs[1], {.size = out.size(0), .where = "embedding_dense_backward"});
          std::int64_t padding = attributes.get<std::int64_t>("padding_idx");
          for (std::int64_t& place : places)
            if (place == padding) place = -1;
          add_blocks({.x = zeros(out.shape(), out.dtype()),
                      .places = places,
                      .block = out.size(1),
                      .source = inputs[0]},
                     out);
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      const Tensor& indices = call.input(1);
      Tensor rows = embedding(call.gradient(), indices);
      std::int64_t padding = call.attributes().get<std::int64_t>("padding_idx");
      if (padding >= 0) rows = masked_fill(rows, unsqueeze(eq(indices, padding), -1), 0);
      return {rows, Gradient()};
    },
    .saves = {.inputs = 0b10},
};

// The places of an index tensor's elements along dim in a tensor of a shape of at least its sizes.
Places element_places(const Shape& shape, std::int64_t dim, const Tensor& index,
                      std::string_view where) {
  Places places =
      checked_indices(index, {.dim = dim, .size = shape[std::size_t(dim)], .where = where});
  Strides strides = contiguous_strides(shape);
  Shape sizes = with_dims(index.shape());
  Dims at(sizes.size(), 0);
  for (std::int64_t& place : places) {
    std::int64_t offset = place * strides[std::size_t(dim)];
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (std::int64_t(d) != dim) offset += at[d] * strides[d];
    place = offset;
    next_index(at, sizes);
  }
  return places;
}

// An index of gather and scatter is no larger than the tensor, apart from dim, and has its dims.
void check_gather(const TensorType& x, const TensorType& index, std::int64_t dim,
                  const char* where) {
  check_index_type(index, where);
  Shape from = with_dims(x.shape), by = with_dims(index.shape);
  bool fits = from.size() == by.size();
  for (std::size_t d = 0; fits && d < by.size(); ++d)
    fits = std::int64_t(d) == dim || by[d] <= from[d];
  check_matching(fits || element_count(by) == 0, where, index.shape, x.shape);
}

const Op gather_op = {
    .name = "gather",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      check_gather(inputs[0], inputs[1], dim_of(attributes, inputs[0].shape), "gather");
      return {{inputs[1].shape, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          if (outputs[0].element_count() == 0) return;
          Shape shape = with_dims(inputs[0].shape());
          Places places = element_places(shape, dim_of(attributes, shape), inputs[1], "gather");
          take_blocks(inputs[0].contiguous(), places, 1, outputs[0]);
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      Tensor g = call.gradient();
      return {scatter_add(new_zeros(g, call.input_type(0).shape),
                          call.attributes().get<std::int64_t>("dim"), call.input(1), g),
              Gradient()};
    },
    .saves = {.inputs = 0b10},
};

TensorTypes scatter_type(Types inputs, const Attributes& attributes) {
  std::int64_t dim = dim_of(attributes, inputs[0].shape);
  check_gather(inputs[0], inputs[1], dim, "scatter");
  if (inputs.size() == 2) return {inputs[0]};
  if (inputs[2].dtype != inputs[0].dtype)
    raise(ErrorKind::runtime_error, "scatter",
          "Expected self.dtype to be equal to src.dtype, got {} and {}", to_string(inputs[0].dtype),
          to_string(inputs[2].dtype));
  Shape by = with_dims(inputs[1].shape), from = with_dims(inputs[2].shape);
  bool fits = by.size() == from.size();
  for (std::size_t d = 0; fits && d < by.size(); ++d) fits = by[d] <= from[d];
  check_matching(fits || element_count(by) == 0, "scatter", inputs[1].shape, inputs[2].shape);
  return {inputs[0]};
}

// The elements of the source that an index has a place for.
Tensor source_within(const Tensor& source, const Shape& index) {
  Tensor result = source;
  for (std::int64_t dim = 0; dim < result.dim(); ++dim)
    if (result.size(dim) != index[std::size_t(dim)])
      result = result.narrow({.dim = dim, .start = 0, .length = index[std::size_t(dim)]});
  return result.contiguous();
}

void scatter_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  Tensor& out = outputs[0];
  adopt_(out, inputs[0]);
  const Tensor& index = inputs[1];
  if (index.element_count() == 0) return;
  Shape shape = with_dims(out.shape());
  Places places = element_places(shape, dim_of(attributes, shape), index, "scatter");
  Tensor source = inputs.size() == 2
                      ? full(index.shape(), out.dtype(), attributes.get<double>("value"))
                      : source_within(inputs[2], index.shape());
  put_blocks(out, places, 1, source);
}

// The gradient of a source has zeros where the index has no place for it.
Tensor source_gradient(const GradientCall& call) {
  const Tensor& index = call.input(1);
  Tensor g = gather(call.gradient(), call.attributes().get<std::int64_t>("dim"), index);
  const Shape& shape = call.input_type(2).shape;
  if (g.shape() == shape) return g;
  Dims pads;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    pads.push_back(0);
    pads.push_back(shape[dim] - g.shape()[dim]);
  }
  return pad(g, pads);
}

const Op scatter_op = {
    .name = "scatter",
    .shape = scatter_type,
    .kernel = scatter_kernel,
    .gradient = [](const GradientCall& call) -> Gradients {
      Gradients gradients(call.input_count());
      if (call.needs(0))
        gradients[0] = scatter(call.gradient(), call.attributes().get<std::int64_t>("dim"),
                               call.input(1), 0.0);
      if (call.needs(2)) gradients[2] = source_gradient(call);
      return gradients;
    },
    .saves = {.inputs = 0b10},
};

const Op scatter_add_op = {
    .name = "scatter_add",
    .shape = scatter_type,
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          const Tensor &x = inputs[0], &index = inputs[1];
          if (index.element_count() == 0) return adopt_(outputs[0], x);
          Shape shape = with_dims(x.shape());
          Places places = element_places(shape, dim_of(attributes, shape), index, "scatter_add");
          Tensor source = source_within(inputs[2], index.shape());
          add_blocks({.x = x, .places = places, .source = source}, outputs[0]);
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      Gradients gradients(3);
      gradients[0] = call.gradient();
      if (call.needs(2)) gradients[2] = source_gradient(call);
      return gradients;
    },
    .saves = {.inputs = 0b10},
};

void check_index_vector(const TensorType& index, const char* where) {
  check_index_type(index, where);
  if (index.shape.size() > 1)
    raise(ErrorKind::index_error, where, "Index is supposed to be a vector, but got {}",
          to_string(DimSpan(index.shape)));
}

const Op index_select_op = {
    .name = "index_select",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      check_index_vector(inputs[1], "index_select");
      TensorType result = inputs[0];
      std::int64_t dim = dim_of(attributes, result.shape);
      if (!result.shape.empty()) result.shape[std::size_t(dim)] = element_count(inputs[1].shape);
      return {result};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Shape shape = with_dims(inputs[0].shape());
          std::int64_t dim = dim_of(attributes, shape);
          Places indices = checked_indices(
              inputs[1], {.dim = dim, .size = shape[std::size_t(dim)], .where = "index_select"});
          take_blocks(inputs[0].contiguous(), places_along(shape, dim, indices),
                      block_after(shape, dim), outputs[0]);
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      Tensor g = call.gradient();
      std::int64_t dim = dim_of(call.attributes(), call.input_type(0).shape);
      if (call.carries(0) && dim == 0 && g.dim() > 0)
        return {carried_rows(call, 0, call.input(1), g, -1), Gradient()};
      return {index_add(new_zeros(g, call.input_type(0).shape), dim, call.input(1), g), Gradient()};
    },
    .saves = {.inputs = 0b10},
};

TensorTypes index_add_type(Types inputs, const Attributes& attributes) {
  check_index_vector(inputs[1], "index_add");
  Shape expected = inputs[0].shape;
  std::int64_t dim = dim_of(attributes, expected);
  if (!expected.empty()) expected[std::size_t(dim)] = element_count(inputs[1].shape);
  if (inputs[2].shape != expected || inputs[2].dtype != inputs[0].dtype)
    raise(ErrorKind::runtime_error, "index_add", "expected a source of {}{}, got {}{}",
          to_string(inputs[0].dtype), to_string(DimSpan(expected)), to_string(inputs[2].dtype),
          to_string(DimSpan(inputs[2].shape)));
  return {inputs[0]};
}

const Op index_add_op = {
    .name = "index_add",
    .shape = index_add_type,
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Shape shape = with_dims(inputs[0].shape());
          std::int64_t dim = dim_of(attributes, shape);
          Places indices = checked_indices(
              inputs[1], {.dim = dim, .size = shape[std::size_t(dim)], .where = "index_add"});
          Places places = places_along(shape, dim, indices);
          add_blocks({.x = inputs[0],
                      .places = places,
                      .block = block_after(shape, dim),
                      .source = inputs[2],
                      .alpha = attributes.get_or("alpha", 1.0)},
                     outputs[0]);
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      Gradients gradients(3);
      Tensor g = call.gradient();
      gradients[0] = g;
      double alpha = call.attributes().get_or("alpha", 1.0);
      if (call.needs(2)) {
        Tensor source = index_select(g, call.attributes().get<std::int64_t>("dim"), call.input(1));
        gradients[2] = alpha == 1 ? source : mul(source, alpha);
      }
      return gradients;
    },
    .saves = {.inputs = 0b10},
};

const Op one_hot_op = {
    .name = "one_hot",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      check_index_type(inputs[0], "one_hot");
      TensorType result = {inputs[0].shape, DType::int64};
      result.shape.push_back(attributes.get<std::int64_t>("num_classes"));
      return {result};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Tensor& out = outputs[0];
          std::int64_t classes = out.shape().back(), begin = 0;
          if (out.bytes() > 0) std::memset(out.mutable_data(), 0, out.bytes());
          auto values = out.mutable_values<std::int64_t>();
          for (std::int64_t place : checked_indices(
                   inputs[0], {.dim = out.dim() - 1, .size = classes, .where = "one_hot"})) {
            values[std::size_t(begin + place)] = 1;
            begin += classes;
          }
        },
};

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices,
                 std::optional<std::int64_t> padding_idx) {
  std::int64_t padding = padding_idx.value_or(-1);
  if (padding_idx && padding < 0) padding += weight.dim() > 0 ? weight.size(0) : 0;
  if (padding_idx && padding < 0)
    raise(ErrorKind::assertion_error, "embedding",
          "Padding_idx must be within num_embeddings, got {}", *padding_idx);
  return call_one(embedding_op, {weight, indices}, {{"padding_idx", padding}});
}

Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices,
                                const EmbeddingRows& rows) {
  return call_one(embedding_backward_op, {gradient, indices},
                  {{"num_weights", rows.count}, {"padding_idx", rows.padding_idx}});
}

Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index) {
  return call_one(gather_op, {x, index}, {{"dim", wrapped_dim(dim, x.shape().size())}});
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::int64_t dim) {
  if (x.dim() != index.dim())
    raise(ErrorKind::runtime_error, "take_along_dim",
          "input and indices should have the same number of dimensions, but got {} dimensions for "
          "input, and {} dimensions for indices",
          x.dim(), index.dim());
  dim = wrapped_dim(dim, x.shape().size());
  if (x.dim() == 0) return gather(x, 0, index);
  TensorType types[] = {type_of(x), type_of(index)};
  for (TensorType& type : types) type.shape[std::size_t(dim)] = 1;
  Shape from = broadcast_shapes(types), by = from;
  from[std::size_t(dim)] = x.size(dim);
  by[std::size_t(dim)] = index.size(dim);
  return gather(expand(x, from), dim, expand(index, by));
}

Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return call_one(scatter_op, {x, index, source}, {{"dim", wrapped_dim(dim, x.shape().size())}});
}

Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, double value) {
  return call_one(scatter_op, {x, index},
                  {{"dim", wrapped_dim(dim, x.shape().size())}, {"value", value}});
}

Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return call_one(scatter_add_op, {x, index, source},
                  {{"dim", wrapped_dim(dim, x.shape().size())}});
}

Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index) {
  return call_one(index_select_op, {x, index}, {{"dim", wrapped_dim(dim, x.shape().size())}});
}

Tensor index_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source,
                 double alpha) {
  return call_one(index_add_op, {x, index, source},
                  {{"dim", wrapped_dim(dim, x.shape().size())}, {"alpha", alpha}});
}

Tensor one_hot(const Tensor& x, std::int64_t classes) {
  if (classes < 0) {
    if (x.distribution() || x.element_count() == 0)
      raise(ErrorKind::runtime_error, "one_hot",
            "Can not infer total number of classes from empty tensor, or a distributed one.");
    Tensor flat = converted(x.detach(), DType::int64).contiguous();
    auto values = flat.values<std::int64_t>();
    classes = 1 + *std::max_element(values.begin(), values.end());
  }
  return call_one(one_hot_op, {x}, {{"num_classes", classes}});
}

gsl::span<const Op* const> gathering_ops() {
  static const Op* const ops[] = {&embedding_op, &embedding_backward_op, &gather_op,
                                  &index_add_op, &index_select_op,       &one_hot_op,
                                  &scatter_op,   &scatter_add_op};
  return ops;
}

}  // namespace simmesh
