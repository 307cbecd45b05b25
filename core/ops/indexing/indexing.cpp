#include "core/ops/indexing/indexing.h"

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/kernels/block_sums.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

// IndexPlan is the plan by which indices read a tensor: its dims in the order indexed, then others;
// the shape of the result while the indices' dims are in front, and where they go.
struct IndexPlan {
  Dims order;             // of x's dims, indexed ones first
  std::size_t indexed;    // how many of them are
  Shape index_shape;      // the common shape of the indices
  Shape rest;             // sizes of the other dims
  std::int64_t position;  // of the indices' dims among the others

  Shape result_shape() const {
    Shape shape(rest.begin(), rest.begin() + position);
    shape.insert(shape.end(), index_shape.begin(), index_shape.end());
    shape.insert(shape.end(), rest.begin() + position, rest.end());
    return shape;
  }
  // result_order permutes a result so that the indices' dims are in front.
  Dims result_order() const {
    Dims front;
    std::int64_t count = std::int64_t(index_shape.size());
    std::int64_t total = count + std::int64_t(rest.size());
    for (std::int64_t i = 0; i < count; ++i) front.push_back(position + i);
    for (std::int64_t i = 0; i < total; ++i)
      if (i < position || i >= position + count) front.push_back(i);
    return front;
  }
};

IndexPlan plan_of(const TensorType& x, Types indices) {
  if (indices.size() > x.shape.size())
    raise(ErrorKind::index_error, "index", "too many indices for tensor of dimension {} (got {})",
          x.shape.size(), indices.size());
  IndexPlan plan;
  TensorTypes given;
  Dims others;
  bool together = true;
  for (std::size_t dim = 0; dim < x.shape.size(); ++dim) {
    if (dim >= indices.size() || !indices[dim].is_defined) {
      others.push_back(std::int64_t(dim));
      plan.rest.push_back(x.shape[dim]);
      continue;
    }
    check_index_type(indices[dim], "index");
    together &= plan.order.empty() || plan.order.back() + 1 == std::int64_t(dim);
    plan.order.push_back(std::int64_t(dim));
    given.push_back(indices[dim]);
  }
  plan.indexed = given.size();
  plan.position = together && !plan.order.empty() ? plan.order.front() : 0;
  plan.order.insert(plan.order.end(), others.begin(), others.end());
  try {
    plan.index_shape = broadcast_shapes(given);
  } catch (const Error& error) {
    raise(ErrorKind::index_error, "index",
          "shape mismatch: indexing tensors could not be broadcast together: {}", error.message());
  }
  return plan;
}

Places index_places(const IndexPlan& plan, const Shape& shape, Inputs indices) {
  Places places(std::size_t(numel(plan.index_shape)), 0);
  for (std::size_t i = 0; i < plan.indexed; ++i) {
    std::int64_t dim = plan.order[i], size = shape[std::size_t(dim)];
    Places along = checked_indices(expand(indices[std::size_t(dim)], plan.index_shape),
                                   {.dim = dim, .size = size, .wraps = true, .where = "index"});
    for (std::size_t k = 0; k < places.size(); ++k) places[k] = places[k] * size + along[k];
  }
  return places;
}

// Returns the tensor with the indexed dims in front, so that each index selects one block.
Tensor indexed_first(const Tensor& x, const IndexPlan& plan) { return x.permute(plan.order); }

const Op index_op = {
    .name = "index",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      IndexPlan plan = plan_of(inputs[0], inputs.subspan(1));
      return {{plan.result_shape(), inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          const Tensor& x = inputs[0];
          IndexPlan plan = plan_of(type_of(x), types_of(inputs.subspan(1)));
          Tensor& out = outputs[0];
          bool in_front = plan.position == 0;
          Tensor front =
              in_front ? out : empty(out.permute(plan.result_order()).shape(), x.dtype());
          take_blocks(indexed_first(x, plan).contiguous(),
                      index_places(plan, x.shape(), inputs.subspan(1)), numel(plan.rest), front);
          if (in_front) return;
          Tensor target = out.permute(plan.result_order());
          copy_(target, front);
        },
};

// The inputs of index_put are x, values and the indices.
const Op index_put_op = {
    .name = "index_put",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      plan_of(inputs[0], inputs.subspan(2));
      if (inputs[0].dtype != inputs[1].dtype)
        raise(ErrorKind::runtime_error, "index_put",
              "Index put requires the source and destination dtypes match, got {} for the "
              "destination and {} for the source.",
              to_string(inputs[0].dtype), to_string(inputs[1].dtype));
      return {inputs[0]};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          const Tensor& x = inputs[0];
          IndexPlan plan = plan_of(type_of(x), types_of(inputs.subspan(2)));
          Places places = index_places(plan, x.shape(), inputs.subspan(2));
          Tensor values =
              expand(inputs[1], plan.result_shape()).permute(plan.result_order()).contiguous();
          std::int64_t block = numel(plan.rest);
          Tensor changed = indexed_first(x, plan).clone();
          if (attributes.get_or(attribute::accumulate, false)) {
            Tensor before = changed;
            changed = empty(before.shape(), before.dtype());
            add_blocks({.x = before, .places = places, .block = block, .source = values}, changed);
          } else {
            put_blocks(changed, places, block, values);
          }
          Tensor target = outputs[0].permute(plan.order);
          adopt_(target, changed);
        },
};

// Replaces masks by the indices of the places where they are true.
std::vector<Tensor> without_masks(gsl::span<const Tensor> indices, const Tensor& x) {
  std::vector<Tensor> result;
  for (const Tensor& index : indices) {
    if (!index.is_defined() || index.dtype() != DType::boolean) {
      result.push_back(index);
      continue;
    }
    for (std::int64_t dim = 0; dim < index.dim(); ++dim) {
      std::int64_t at = std::int64_t(result.size());
      if (at >= x.dim() || x.size(at) != index.size(dim))
        raise(ErrorKind::index_error, "index",
              "The shape of the mask {} at index {} does not match the shape of the indexed tensor "
              "{} at index {}",
              to_string(DimSpan(index.shape())), dim, to_string(DimSpan(x.shape())), at);
      result.push_back(
          nonzero(index).transpose(0, 1).narrow({.dim = 0, .start = dim, .length = 1}).squeeze(0));
    }
  }
  return result;
}

}  // namespace

Tensor index(const Tensor& x, gsl::span<const Tensor> indices) {
  std::vector<Tensor> inputs = without_masks(indices, x);
  inputs.insert(inputs.begin(), x);
  return call_one(index_op, inputs);
}

Tensor index_put(const Tensor& x, gsl::span<const Tensor> indices, const Tensor& values,
                 bool accumulate) {
  std::vector<Tensor> inputs = without_masks(indices, x);
  inputs.insert(inputs.begin(), {x, values});
  return call_one(index_put_op, inputs, {attribute::accumulate = accumulate});
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != DType::boolean)
    raise(ErrorKind::runtime_error, "masked_select",
          "masked_select: expected BoolTensor for mask, got {}", to_string(mask.dtype()));
  if (x.distribution() || mask.distribution())
    raise(ErrorKind::runtime_error, "masked_select",
          "Sharding propagation failed: expected plain tensors, since the shape of the result "
          "depends on the elements");
  TensorType types[] = {type_of(x), type_of(mask)};
  Shape shape = broadcast_shapes(types);
  Tensor flat = reshape(expand(x, shape), Shape{numel(shape)});
  return index(flat, {reshape(expand(mask, shape), flat.shape())});
}

Tensor nonzero(const Tensor& x) {
  if (x.distribution())
    raise(ErrorKind::runtime_error, "nonzero",
          "Sharding propagation failed: expected a plain tensor, since the shape of the result "
          "depends on the elements");
  Tensor flags = converted(x.detach(), DType::boolean).contiguous();
  Places found;
  std::int64_t at = 0;
  for (bool flag : flags.values<bool>()) {
    if (flag) found.push_back(at);
    ++at;
  }
  Tensor result = empty({std::int64_t(found.size()), x.dim()}, DType::int64);
  Strides strides = contiguous_strides(x.shape());
  std::size_t i = 0;
  auto out = result.mutable_values<std::int64_t>();
  for (std::int64_t place : found)
    for (std::int64_t stride : strides) {
      out[i++] = place / stride;
      place %= stride;
    }
  return result;
}

void indexing_ops(OpList& ops) { ops.add({&index_op, &index_put_op}); }

}  // namespace simmesh
