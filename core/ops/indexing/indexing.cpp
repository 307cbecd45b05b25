#include "core/ops/indexing/indexing.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/kernels/block_sums.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"

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

// Returns the places of the elements other than zero in a contiguous tensor of x's shape.
Tensor nonzero_flags(const Tensor& x) { return converted(x.detach(), DType::boolean).contiguous(); }

Places true_places(const Tensor& flags) {
  Places found;
  std::int64_t at = 0;
  for (bool flag : flags.values<bool>()) {
    if (flag) found.push_back(at);
    ++at;
  }
  return found;
}

// Writes the indices of places, a row each, into the first rows of a contiguous int64 tensor, as
// many as it has.
void write_rows(const Places& places, const Shape& shape, Tensor& rows) {
  Strides strides = contiguous_strides(shape);
  auto out = rows.mutable_values<std::int64_t>();
  std::size_t count = std::min(places.size(), std::size_t(rows.size(0))), i = 0;
  for (std::int64_t place : gsl::span<const std::int64_t>(places).first(count))
    for (std::int64_t stride : strides) {
      out[i++] = place / stride;
      place %= stride;
    }
}

// The outputs are the rows and the number of all elements other than zero.
const Op nonzero_static_op = {
    .name = "nonzero_static",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      std::int64_t rows = attributes.get(attribute::rows);
      if (rows < 0)
        raise(ErrorKind::runtime_error, "nonzero_static",
              "nonzero_static: 'size' must be an non-negative integer, got {}", rows);
      return {{Shape{rows, std::int64_t(inputs[0].shape.size())}, DType::int64},
              {Shape{}, DType::int64}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor& rows = outputs[0];
          auto all = rows.mutable_values<std::int64_t>();
          std::fill(all.begin(), all.end(), attributes.get_or(attribute::filler, -1));
          Places places = true_places(nonzero_flags(inputs[0]));
          write_rows(places, inputs[0].shape(), rows);
          outputs[1].mutable_values<std::int64_t>()[0] = std::int64_t(places.size());
        },
};

std::vector<Tensor> call_nonzero_static(const Tensor& x, std::int64_t rows, std::int64_t filler) {
  return call(nonzero_static_op, {x.detach()},
              {attribute::rows = rows, attribute::filler = filler});
}

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
  TensorType types[] = {type_of(x), type_of(mask)};
  Shape shape = broadcast_shapes(types);
  Tensor values = expand(x, shape), flags = expand(mask, shape);
  if (!shape.empty()) return index(values, {flags});
  return index(reshape(values, {1}), {reshape(flags, {1})});
}

Tensor nonzero(const Tensor& x) {
  if (x.distribution()) {
    std::vector<Tensor> all = call_nonzero_static(x, x.numel(), -1);
    return all[0].narrow({.dim = 0, .start = 0, .length = item(all[1]).as<std::int64_t>()});
  }
  Places places = true_places(known_tensor(nonzero_flags(x), "nonzero"));
  Tensor rows = empty({std::int64_t(places.size()), x.dim()}, DType::int64);
  if (rows.has_elements()) write_rows(places, x.shape(), rows);
  return rows;
}

Tensor nonzero_static(const Tensor& x, std::int64_t rows, std::int64_t filler) {
  return call_nonzero_static(x, rows, filler)[0];
}

void indexing_ops(OpList& ops) { ops.add({&index_op, &index_put_op, &nonzero_static_op}); }

}  // namespace simmesh
