#include "core/ops/indexing/gathering.h"

#include <algorithm>
#include <cstring>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/kernels/block_sums.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

TensorTypes embedding_type(Types inputs, const Attributes& attributes) {
  const TensorType &weight = inputs[0], &indices = inputs[1];
  check_index_type(indices, "embedding");
  if (weight.shape.size() != 2)
    raise(ErrorKind::runtime_error, "embedding", "'weight' must be 2-D, got {}",
          to_string(DimSpan(weight.shape)));
  std::int64_t padding = attributes.get_or(attribute::padding_idx, -1);
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
};

const Op embedding_backward_op = {
    .name = "embedding_dense_backward",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      return {{{attributes.get(attribute::num_weights), inputs[0].shape.back()}, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor& out = outputs[0];
          Places places = checked_indices(
              inputs[1], {.size = out.size(0), .where = "embedding_dense_backward"});
          std::int64_t padding = attributes.get(attribute::padding_idx);
          for (std::int64_t& place : places)
            if (place == padding) place = -1;
          add_blocks({.x = zeros(out.shape(), out.dtype()),
                      .places = places,
                      .block = out.size(1),
                      .source = inputs[0]},
                     out);
        },
};

const Op gather_op = {
    .name = "gather",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      std::int64_t dim = indexed_dim(attributes, inputs[0].shape);
      check_gather({.x = inputs[0], .index = inputs[1], .dim = dim}, "gather");
      return {{inputs[1].shape, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          if (outputs[0].numel() == 0) return;
          Shape shape = with_dims(inputs[0].shape());
          Places places =
              element_places(shape, indexed_dim(attributes, shape), inputs[1], "gather");
          take_blocks(inputs[0].contiguous(), places, 1, outputs[0]);
        },
};

const Op index_select_op = {
    .name = "index_select",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      check_index_vector(inputs[1], "index_select");
      TensorType result = inputs[0];
      std::int64_t dim = indexed_dim(attributes, result.shape);
      if (!result.shape.empty()) result.shape[std::size_t(dim)] = numel(inputs[1].shape);
      return {result};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Shape shape = with_dims(inputs[0].shape());
          std::int64_t dim = indexed_dim(attributes, shape);
          Places indices = checked_indices(
              inputs[1], {.dim = dim, .size = shape[std::size_t(dim)], .where = "index_select"});
          take_blocks(inputs[0].contiguous(), places_along(shape, dim, indices),
                      block_after(shape, dim), outputs[0]);
        },
};

const Op take_op = {
    .name = "take",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_index_type(inputs[1], "take");
      return {{inputs[1].shape, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Places places = checked_indices(
              inputs[1], {.size = inputs[0].numel(), .wraps = true, .where = "take"});
          take_blocks(inputs[0].contiguous(), places, 1, outputs[0]);
        },
};

const Op one_hot_op = {
    .name = "one_hot",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      check_index_type(inputs[0], "one_hot");
      TensorType result = {inputs[0].shape, DType::int64};
      result.shape.push_back(attributes.get(attribute::num_classes));
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
  return call_one(embedding_op, {weight, indices}, {attribute::padding_idx = padding});
}

Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices,
                                const EmbeddingRows& rows) {
  return call_one(embedding_backward_op, {gradient, indices},
                  {attribute::num_weights = rows.count, attribute::padding_idx = rows.padding_idx});
}

Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index) {
  return call_one(gather_op, {x, index}, {attribute::dim = wrapped_dim(dim, x.shape().size())});
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

Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& index) {
  return call_one(index_select_op, {x, index},
                  {attribute::dim = wrapped_dim(dim, x.shape().size())});
}

Tensor take(const Tensor& x, const Tensor& index) { return call_one(take_op, {x, index}); }

Tensor one_hot(const Tensor& x, std::int64_t classes) {
  if (classes < 0) {
    if (x.distribution() || x.numel() == 0)
      raise(ErrorKind::runtime_error, "one_hot",
            "Can not infer total number of classes from empty tensor, or a distributed one.");
    Tensor flat = converted(x.detach(), DType::int64).contiguous();
    auto values = flat.values<std::int64_t>();
    classes = 1 + *std::max_element(values.begin(), values.end());
  }
  return call_one(one_hot_op, {x}, {attribute::num_classes = classes});
}

void gathering_ops(OpList& ops) {
  ops.add(
      {&embedding_op, &embedding_backward_op, &gather_op, &index_select_op, &one_hot_op, &take_op});
}

}  // namespace simmesh
