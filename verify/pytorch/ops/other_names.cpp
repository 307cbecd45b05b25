#include "core/check/error.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/gamma.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/trigonometry.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/order_statistics.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// Functions of PyTorch that are another function under another name, or with fixed arguments.

Tensor product_of(const Tensor& a, const Tensor& b) { return mul(a, b); }
Tensor difference_of(const Tensor& a, const Tensor& b) { return sub(a, b); }
Tensor quotient_of(const Tensor& a, const Tensor& b) { return div(a, b); }
Tensor product_of_number(const Tensor& a, Number b) { return mul(a, b); }
Tensor difference_of_number(const Tensor& a, Number b) { return sub(a, b); }
Tensor quotient_of_number(const Tensor& a, Number b) { return div(a, b); }
Tensor floor_of_quotient(const Tensor& a, const Tensor& b) {
  return div(a, b, RoundingMode::floor);
}
Tensor floor_of_quotient_by(const Tensor& a, Number b) { return div(a, b, RoundingMode::floor); }

PythonFunctions names_of_arithmetic() {
  return {
      of_tensor(everywhere("absolute"), abs),
      of_tensor(everywhere("negative"), neg),
      of_tensor(everywhere("fix"), trunc),
      of_tensor(everywhere("arccos"), acos),
      of_tensor(everywhere("arcsin"), asin),
      of_tensor(everywhere("arctan"), atan),
      of_tensor(everywhere("arccosh"), acosh),
      of_tensor(everywhere("arcsinh"), asinh),
      of_tensor(everywhere("arctanh"), atanh),
      of_tensor("torch.special.expit", sigmoid),
      of_tensor("torch.special.erf", erf),
      of_tensor("torch.special.erfc", erfc),
      of_tensor("torch.special.exp2", exp2),
      of_tensor("torch.special.expm1", expm1),
      of_tensor("torch.special.log1p", log1p),
      of_tensor("torch.special.gammaln", lgamma),
      of_tensor("torch.special.digamma torch.special.psi", digamma),
      of_two_tensors(everywhere("arctan2"), atan2),
      of_two_tensors("torch.special.xlogy", xlogy),
      of_tensor_or_number(everywhere("multiply", "Tensor Scalar"), product_of, product_of_number),
      of_tensor_or_number("torch.subtract Tensor.subtract", difference_of, difference_of_number),
      of_tensor_or_number("torch.true_divide Tensor.true_divide torch.divide Tensor.divide",
                          quotient_of, quotient_of_number),
      of_tensor_or_number(everywhere("floor_divide", "default Scalar"), floor_of_quotient,
                          floor_of_quotient_by),
      of_tensor_or_number(everywhere("not_equal", "Tensor Scalar"), ne, ne),
      of_tensor_or_number(everywhere("greater", "Tensor Scalar"), gt, gt),
      of_tensor_or_number(everywhere("greater_equal", "Tensor Scalar"), ge, ge),
      of_tensor_or_number(everywhere("less", "Tensor Scalar"), lt, lt),
      of_tensor_or_number(everywhere("less_equal", "Tensor Scalar"), le, le),
  };
}

template <DType dtype>
Tensor to_dtype(const Tensor& x) {
  return to(x, dtype);
}

// A real tensor is its own conjugate and its own real part.
Tensor unchanged(const Tensor& x) { return x; }
Tensor ones_of_bool(const Tensor& x) { return ones_like(x, DType::boolean); }

PythonFunctions names_of_conversions() {
  return {
      of_tensor("Tensor.half", to_dtype<DType::float16>),
      of_tensor("Tensor.bfloat16", to_dtype<DType::bfloat16>),
      of_tensor("Tensor.int", to_dtype<DType::int32>),
      of_tensor("Tensor.long", to_dtype<DType::int64>),
      of_tensor("Tensor.byte", to_dtype<DType::uint8>),
      of_two_tensors("Tensor.type_as",
                     [](const Tensor& x, const Tensor& other) { return to(x, other.dtype()); }),
      of_tensor(everywhere("conj") + " " + everywhere("conj_physical") + " " + everywhere("real") +
                    " torch.resolve_conj Tensor.resolve_conj torch.resolve_neg Tensor.resolve_neg",
                unchanged),
      of_tensor(everywhere("isreal"), ones_of_bool),
  };
}

Tensor at_least_1d(const Tensor& x) { return x.dim() == 0 ? reshape(x, {1}) : x; }
Tensor at_least_2d(const Tensor& x) {
  if (x.dim() == 0) return reshape(x, {1, 1});
  return x.dim() == 1 ? unsqueeze(x, 0) : x;
}
Tensor at_least_3d(const Tensor& x) {
  if (x.dim() == 0) return reshape(x, {1, 1, 1});
  if (x.dim() == 1) return unsqueeze(unsqueeze(x, 0), -1);
  return x.dim() == 2 ? unsqueeze(x, -1) : x;
}

Tensor with_swapped_matrix_dims(const Tensor& x) { return transpose(x, -2, -1); }
Tensor viewed_as(const Tensor& x, const Tensor& other) { return view(x, DimSpan(other.shape())); }
Tensor sorted_rows_of(const Tensor& x) { return sort(x, 0).values; }
Tensor upside_down(const Tensor& x) { return flip(x, Dims{0}); }
Tensor left_to_right(const Tensor& x) { return flip(x, Dims{1}); }
Tensor squeezed_copy(const Tensor& x) { return squeeze(x); }

PythonValue nanmedian_call(PythonCall& call) {
  if (!call.has("dim")) return nanmedian(call.tensor("self"));
  return values_and_indices(
      nanmedian(call.tensor("self"), call.integer("dim"), call.flag("keepdim")));
}

PythonFunctions names_of_shapes() {
  return {
      of_tensor("torch.adjoint Tensor.adjoint aten.adjoint.default", with_swapped_matrix_dims),
      of_tensor("torch.atleast_1d aten.atleast_1d.default", at_least_1d),
      of_tensor("torch.atleast_2d aten.atleast_2d.default", at_least_2d),
      of_tensor("torch.atleast_3d aten.atleast_3d.default", at_least_3d),
      of_two_tensors("Tensor.view_as aten.view_as.default", viewed_as),
      of_two_tensors(
          "Tensor.reshape_as aten.reshape_as.default",
          [](const Tensor& x, const Tensor& other) { return reshape(x, DimSpan(other.shape())); }),
      of_two_tensors("Tensor.expand_as aten.expand_as.default", expand_as),
      with_sizes(everywhere("broadcast_to"), "Tensor self, int[] size", "size", expand),
      of_tensor(everywhere("msort"), sorted_rows_of),
      of_tensor(everywhere("flipud"), upside_down),
      of_tensor(everywhere("fliplr"), left_to_right),
      of_tensor("torch.squeeze_copy aten.squeeze_copy.default", squeezed_copy),
      of_two_tensors(everywhere("vdot"), dot),
      {everywhere("nanmedian", "default dim"),
       PythonSignature("Tensor self, int? dim=None, bool keepdim=False"), nanmedian_call},
  };
}

PythonFunctions other_names() {
  PythonFunctions functions = names_of_arithmetic();
  for (PythonFunction& function : names_of_conversions()) functions.push_back(std::move(function));
  for (PythonFunction& function : names_of_shapes()) functions.push_back(std::move(function));
  return functions;
}

const PythonFamily family_of_other_names(other_names);

}  // namespace

}  // namespace simmesh
