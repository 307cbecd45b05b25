#include "core/ops/elementwise/comparison.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions comparison_functions() {
  return {
      of_tensor_or_number(everywhere("eq", "Tensor Scalar"), eq, eq),
      of_tensor_or_number(everywhere("ne", "Tensor Scalar"), ne, ne),
      of_tensor_or_number(everywhere("lt", "Tensor Scalar"), lt, lt),
      of_tensor_or_number(everywhere("le", "Tensor Scalar"), le, le),
      of_tensor_or_number(everywhere("gt", "Tensor Scalar"), gt, gt),
      of_tensor_or_number(everywhere("ge", "Tensor Scalar"), ge, ge),
      {everywhere("equal"), PythonSignature("Tensor self, Tensor other"),
       [](PythonCall& call) -> PythonValue {
         return equal(call.tensor("self"), call.tensor("other"));
       }},
  };
}

const PythonFamily comparison_family(comparison_functions);

}  // namespace

}  // namespace simmesh
