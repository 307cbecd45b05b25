#include "core/ops/shapes/aliases.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;

std::vector<Tensor> same(Inputs inputs, const Attributes&) { return {inputs[0]}; }

const Op alias_op = {.name = "alias", .view = same};

const Op positive_op = {
    .name = "positive",
    .view = [](Inputs inputs, const Attributes&) -> std::vector<Tensor> {
      if (inputs[0].dtype() == DType::boolean)
        raise(ErrorKind::runtime_error, "positive",
              "The `+` operator, on a bool tensor is not supported.");
      return {inputs[0]};
    },
};

[[noreturn]] void refuse_bytes(const Tensor& x, DType dtype) {
  raise(ErrorKind::runtime_error, "view",
        "expected a tensor whose last dim is contiguous and has bytes of whole elements of {}, got "
        "{}{} with strides {}",
        to_string(dtype), to_string(x.dtype()), to_string(DimSpan(x.shape())),
        to_string(DimSpan(x.strides())));
}

std::vector<Tensor> view_dtype_rule(Inputs inputs, const Attributes& attributes) {
  const Tensor& x = inputs[0];
  auto dtype = attributes.get(attribute::dtype);
  auto from = std::int64_t(bytes_per_element(x.dtype())),
       to = std::int64_t(bytes_per_element(dtype));
  Shape shape = x.shape();
  Strides strides = x.strides();
  if (from != to) {
    if (shape.empty() || strides.back() != 1 || shape.back() * from % to != 0)
      refuse_bytes(x, dtype);
    shape.back() = shape.back() * from / to;
    for (std::size_t dim = 0; dim + 1 < strides.size(); ++dim) {
      if (strides[dim] * from % to != 0) refuse_bytes(x, dtype);
      strides[dim] = strides[dim] * from / to;
    }
    if (x.storage_offset() * from % to != 0) refuse_bytes(x, dtype);
  }
  return {Tensor(x.storage(), dtype, std::move(shape), std::move(strides),
                 x.storage_offset() * from / to)};
}

const Op view_dtype_op = {.name = "view_dtype", .view = view_dtype_rule};

std::vector<Tensor> pairs(Inputs inputs, const Attributes&) {
  const Tensor& x = inputs[0];
  if (x.dim() == 0 || x.shape().back() != 2 || !is_floating_point(x.dtype()))
    raise(ErrorKind::runtime_error, "view_as_complex",
          "Tensor must have a last dimension of size 2, got {}{}", to_string(x.dtype()),
          to_string(DimSpan(x.shape())));
  return {x};
}

const Op view_as_complex_op = {.name = "view_as_complex", .view = pairs};
const Op view_as_real_op = {.name = "view_as_real", .view = pairs};

}  // namespace

Tensor alias(const Tensor& x) { return call_one(alias_op, {x}); }
Tensor positive(const Tensor& x) { return call_one(positive_op, {x}); }
Tensor view_as_dtype(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? alias(x) : call_one(view_dtype_op, {x}, {attribute::dtype = dtype});
}
Tensor view_as_complex(const Tensor& x) { return call_one(view_as_complex_op, {x}); }
Tensor view_as_real(const Tensor& x) { return call_one(view_as_real_op, {x}); }

void aliases_ops(OpList& ops) {
  ops.add({&alias_op, &positive_op, &view_dtype_op, &view_as_complex_op, &view_as_real_op});
}

}  // namespace simmesh
