#include "core/ops/indexing/scattering.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/kernels/block_sums.h"
#include "core/ops/kernels/scatter_call.h"
#include "core/ops/op_list.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

void scatter_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  Tensor& out = outputs[0];
  adopt_(out, inputs[0]);
  const Tensor& index = inputs[1];
  if (index.numel() == 0) return;
  Shape shape = with_dims(out.shape());
  Places places = element_places(shape, indexed_dim(attributes, shape), index, "scatter");
  Tensor source = inputs.size() == 2 ? full(index.shape(), out.dtype(),
                                            attributes.get(attribute::value).as<double>())
                                     : source_within(inputs[2], index.shape());
  put_blocks(out, places, 1, source);
}

const Op scatter_op = {
    .name = "scatter",
    .shape =
        [](Types inputs, const Attributes& attributes) {
          return scatter_types(inputs, attributes, "scatter");
        },
    .kernel = scatter_kernel,
};

const Op scatter_add_op = {
    .name = "scatter_add",
    .shape =
        [](Types inputs, const Attributes& attributes) {
          return scatter_types(inputs, attributes, "scatter_add");
        },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          const Tensor &x = inputs[0], &index = inputs[1];
          if (index.numel() == 0) return adopt_(outputs[0], x);
          Shape shape = with_dims(x.shape());
          Places places =
              element_places(shape, indexed_dim(attributes, shape), index, "scatter_add");
          Tensor source = source_within(inputs[2], index.shape());
          add_blocks({.x = x, .places = places, .source = source}, outputs[0]);
        },
};

// The source has the shape of x, but along dim the size of the index.
TensorTypes index_source_type(Types inputs, const Attributes& attributes, const char* where) {
  check_index_vector(inputs[1], where);
  Shape expected = inputs[0].shape;
  std::int64_t dim = indexed_dim(attributes, expected);
  if (!expected.empty()) expected[std::size_t(dim)] = numel(inputs[1].shape);
  if (inputs[2].shape != expected || inputs[2].dtype != inputs[0].dtype)
    raise(ErrorKind::runtime_error, where, "expected a source of {}{}, got {}{}",
          to_string(inputs[0].dtype), to_string(DimSpan(expected)), to_string(inputs[2].dtype),
          to_string(DimSpan(inputs[2].shape)));
  return {inputs[0]};
}

const Op index_add_op = {
    .name = "index_add",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      return index_source_type(inputs, attributes, "index_add");
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Shape shape = with_dims(inputs[0].shape());
          std::int64_t dim = indexed_dim(attributes, shape);
          Places indices = checked_indices(
              inputs[1], {.dim = dim, .size = shape[std::size_t(dim)], .where = "index_add"});
          Places places = places_along(shape, dim, indices);
          add_blocks({.x = inputs[0],
                      .places = places,
                      .block = block_after(shape, dim),
                      .source = inputs[2],
                      .alpha = attributes.get_or(attribute::alpha, 1.0).as<double>()},
                     outputs[0]);
        },
};

const Op index_copy_op = {
    .name = "index_copy",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      return index_source_type(inputs, attributes, "index_copy");
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          adopt_(outputs[0], inputs[0]);
          Shape shape = with_dims(inputs[0].shape());
          std::int64_t dim = indexed_dim(attributes, shape);
          Places indices = checked_indices(
              inputs[1], {.dim = dim, .size = shape[std::size_t(dim)], .where = "index_copy"});
          put_blocks(outputs[0], places_along(shape, dim, indices), block_after(shape, dim),
                     inputs[2].contiguous());
        },
};

const Op index_fill_op = {
    .name = "index_fill",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      check_index_vector(inputs[1], "index_fill");
      indexed_dim(attributes, inputs[0].shape);
      return {inputs[0]};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor& out = outputs[0];
          adopt_(out, inputs[0]);
          Shape shape = with_dims(out.shape());
          std::int64_t dim = indexed_dim(attributes, shape), block = block_after(shape, dim);
          Places indices = checked_indices(
              inputs[1], {.dim = dim, .size = shape[std::size_t(dim)], .where = "index_fill"});
          Places places = places_along(shape, dim, indices);
          put_blocks(out, places, block,
                     full({std::int64_t(places.size()) * block}, out.dtype(),
                          attributes.get(attribute::value).as<double>()));
        },
};

}  // namespace

Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return call_one(scatter_op, {x, index, source},
                  {attribute::dim = wrapped_dim(dim, x.shape().size())});
}

Tensor scatter(const Tensor& x, std::int64_t dim, const Tensor& index, double value) {
  return call_one(scatter_op, {x, index},
                  {attribute::dim = wrapped_dim(dim, x.shape().size()), attribute::value = value});
}

Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return call_one(scatter_add_op, {x, index, source},
                  {attribute::dim = wrapped_dim(dim, x.shape().size())});
}

Tensor index_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source,
                 double alpha) {
  return call_one(index_add_op, {x, index, source},
                  {attribute::dim = wrapped_dim(dim, x.shape().size()), attribute::alpha = alpha});
}

Tensor index_copy(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return call_one(index_copy_op, {x, index, source},
                  {attribute::dim = wrapped_dim(dim, x.shape().size())});
}

Tensor index_fill(const Tensor& x, std::int64_t dim, const Tensor& index, double value) {
  return call_one(index_fill_op, {x, index},
                  {attribute::dim = wrapped_dim(dim, x.shape().size()), attribute::value = value});
}

void scattering_ops(OpList& ops) {
  ops.add({&scatter_op, &scatter_add_op, &index_add_op, &index_copy_op, &index_fill_op});
}

}  // namespace simmesh
