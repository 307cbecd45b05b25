#include "core/ops/shapes/joining.h"

#include <algorithm>
#include <cstring>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

// PyTorch leaves vectors without elements out of a cat, whatever the shape of the others.
bool is_left_out(const Shape& shape) { return shape == Shape{0}; }

std::int64_t cat_dim(Types inputs, const Attributes& attributes) {
  std::int64_t dim = attributes.get(attribute::dim);
  for (const TensorType& type : inputs)
    if (!is_left_out(type.shape)) return wrapped_dim(dim, type.shape.size());
  return wrapped_dim(dim, 1);
}

TensorTypes cat_type(Types inputs, const Attributes& attributes) {
  if (inputs.empty()) raise(ErrorKind::value_error, "cat", "expected a non-empty list of Tensors");
  std::int64_t dim = cat_dim(inputs, attributes);
  TensorType result = {{0}, result_type(inputs)};
  bool is_first = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape;
    if (shape.empty())
      raise(ErrorKind::runtime_error, "cat",
            "zero-dimensional tensor (at position {}) cannot be concatenated", i);
    if (is_left_out(shape)) continue;
    if (is_first) {
      result.shape = shape;
      is_first = false;
      continue;
    }
    Shape expected = result.shape;
    if (shape.size() == expected.size()) expected[std::size_t(dim)] = shape[std::size_t(dim)];
    if (shape != expected)
      raise(ErrorKind::runtime_error, "cat",
            "Sizes of tensors must match except in dimension {}. Expected {} but got {} for tensor "
            "number {} in the list.",
            dim, to_string(DimSpan(result.shape)), to_string(DimSpan(shape)), i);
    result.shape[std::size_t(dim)] += shape[std::size_t(dim)];
  }
  return {result};
}

void cat_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  Tensor& out = outputs[0];
  std::int64_t dim = cat_dim(types_of(inputs), attributes), start = 0;
  for (const Tensor& input : inputs) {
    if (is_left_out(input.shape())) continue;
    Tensor part = out.narrow({.dim = dim, .start = start, .length = input.size(dim)});
    copy_(part, converted(input, out.dtype()));
    start += input.size(dim);
  }
}

const Op cat_op = {
    .name = "cat",
    .shape = cat_type,
    .kernel = cat_kernel,
    .moves = true,
};

TensorTypes stack_type(Types inputs, const Attributes& attributes) {
  if (inputs.empty())
    raise(ErrorKind::runtime_error, "stack", "stack expects a non-empty TensorList");
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].shape != inputs[0].shape)
      raise(ErrorKind::runtime_error, "stack",
            "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
            to_string(DimSpan(inputs[0].shape)), to_string(DimSpan(inputs[i].shape)), i);
  TensorType result = {inputs[0].shape, result_type(inputs)};
  std::int64_t dim = wrapped_dim(attributes.get(attribute::dim), result.shape.size() + 1);
  result.shape.insert(result.shape.begin() + dim, std::int64_t(inputs.size()));
  return {result};
}

const Op stack_op = {
    .name = "stack",
    .shape = stack_type,
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor& out = outputs[0];
          std::int64_t dim = wrapped_dim(attributes.get(attribute::dim), out.shape().size());
          for (std::size_t i = 0; i < inputs.size(); ++i) {
            Tensor part = out.narrow({.dim = dim, .start = std::int64_t(i), .length = 1});
            copy_(part, converted(inputs[i], out.dtype()).unsqueeze(dim));
          }
        },
};

}  // namespace

Tensor cat(gsl::span<const Tensor> tensors, std::int64_t dim) {
  return call_one(cat_op, tensors, {attribute::dim = dim});
}

Tensor stack(gsl::span<const Tensor> tensors, std::int64_t dim) {
  return call_one(stack_op, tensors, {attribute::dim = dim});
}

Tensor hstack(gsl::span<const Tensor> tensors) {
  std::vector<Tensor> rows;
  for (const Tensor& x : tensors) rows.push_back(x.dim() == 0 ? reshape(x, {1}) : x);
  return cat(rows, !rows.empty() && rows.front().dim() == 1 ? 0 : 1);
}

Tensor vstack(gsl::span<const Tensor> tensors) {
  std::vector<Tensor> rows;
  for (const Tensor& x : tensors) rows.push_back(x.dim() < 2 ? reshape(x, {1, -1}) : x);
  return cat(rows, 0);
}

void joining_ops(OpList& ops) { ops.add({&cat_op, &stack_op}); }

}  // namespace simmesh
