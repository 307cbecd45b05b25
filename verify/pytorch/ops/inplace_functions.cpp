#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "verify/pytorch/ops/python_functions.h"
#include "verify/pytorch/ops/rounding_mode.h"

namespace simmesh {

namespace {

using ScaledInPlace = Tensor& (*)(Tensor& self, const Tensor& other, Number alpha);
using ScaledNumberInPlace = Tensor& (*)(Tensor& self, Number other, Number alpha);

PythonFunction scaled_in_place(std::string names, ScaledInPlace of_tensors,
                               ScaledNumberInPlace of_number) {
  return {std::move(names), PythonSignature("Tensor self, Tensor|Scalar other, *, Scalar alpha=1"),
          [=](PythonCall& call) -> PythonValue {
            if (call.is_tensor("other"))
              return of_tensors(call.target(), call.tensor("other"), call.number("alpha"));
            return of_number(call.target(), call.number("other"), call.number("alpha"));
          }};
}

PythonFunctions filling_functions() {
  return {
      {everywhere("fill_", "Scalar Tensor"), PythonSignature("Tensor self, Tensor|Scalar value"),
       [](PythonCall& call) -> PythonValue {
         if (call.is_tensor("value")) return fill_(call.target(), call.tensor("value"));
         return fill_(call.target(), call.number("value"));
       }},
      {everywhere("zero_"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return zero_(call.target()); }},
      {everywhere("copy_"), PythonSignature("Tensor self, Tensor src, bool non_blocking=False"),
       [](PythonCall& call) -> PythonValue {
         return copy_from_(call.target(), call.tensor("src"));
       }},
      {everywhere("masked_fill_", "Scalar"),
       PythonSignature("Tensor self, Tensor mask, Scalar value"),
       [](PythonCall& call) -> PythonValue {
         return masked_fill_(call.target(), call.tensor("mask"), call.number("value"));
       }},
      {everywhere("clamp_"), PythonSignature("Tensor self, Scalar? min=None, Scalar? max=None"),
       [](PythonCall& call) -> PythonValue {
         return clamp_(call.target(), call.number_if("min"), call.number_if("max"));
       }},
  };
}

}  // namespace

PythonFunctions inplace_functions() {
  PythonFunctions functions = {
      scaled_in_place(everywhere("add_", "Tensor Scalar"), add_, add_),
      scaled_in_place(everywhere("sub_", "Tensor Scalar"), sub_, sub_),
      {everywhere("mul_", "Tensor Scalar"), PythonSignature("Tensor self, Tensor|Scalar other"),
       [](PythonCall& call) -> PythonValue {
         if (call.is_tensor("other")) return mul_(call.target(), call.tensor("other"));
         return mul_(call.target(), call.number("other"));
       }},
      {everywhere("div_", "Tensor Scalar"),
       PythonSignature("Tensor self, Tensor|Scalar other, *, str? rounding_mode=None"),
       [](PythonCall& call) -> PythonValue {
         RoundingMode mode = rounding_mode_of(call);
         if (call.is_tensor("other")) return div_(call.target(), call.tensor("other"), mode);
         return div_(call.target(), call.number("other"), mode);
       }},
      {everywhere("addcmul_"),
       PythonSignature("Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1"),
       [](PythonCall& call) -> PythonValue {
         return addcmul_(call.target(), call.tensor("tensor1"), call.tensor("tensor2"),
                         call.number("value"));
       }},
  };
  for (PythonFunction& function : filling_functions()) functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
