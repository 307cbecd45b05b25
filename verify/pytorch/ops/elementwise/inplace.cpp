#include "core/ops/elementwise/inplace.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions inplace_functions() {
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
  };
}

const PythonFamily inplace_family(inplace_functions);

}  // namespace

}  // namespace simmesh
