#include "core/ops/elementwise/interpolation.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions interpolation_functions() {
  return {
      {everywhere("lerp", "Scalar Tensor"),
       PythonSignature("Tensor self, Tensor end, Tensor|Scalar weight"),
       [](PythonCall& call) -> PythonValue {
         Tensor start = call.tensor("self"), end = call.tensor("end");
         if (call.is_tensor("weight")) return lerp(start, end, call.tensor("weight"));
         return lerp(start, end, call.number("weight"));
       }},
      {everywhere("addcmul"),
       PythonSignature("Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1"),
       [](PythonCall& call) -> PythonValue {
         return addcmul(call.tensor("self"), call.tensor("tensor1"), call.tensor("tensor2"),
                        call.number("value"));
       }},
      {everywhere("addcdiv"),
       PythonSignature("Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1"),
       [](PythonCall& call) -> PythonValue {
         return addcdiv(call.tensor("self"), call.tensor("tensor1"), call.tensor("tensor2"),
                        call.number("value"));
       }},
      {everywhere("addcmul_"),
       PythonSignature("Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1"),
       [](PythonCall& call) -> PythonValue {
         return addcmul_(call.target(), call.tensor("tensor1"), call.tensor("tensor2"),
                         call.number("value"));
       }},
  };
}

const PythonFamily interpolation_family(interpolation_functions);

}  // namespace

}  // namespace simmesh
