#include "core/ops/elementwise/logic.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions logic_functions() {
  PythonFunctions functions = {
      of_tensor_or_number(everywhere("bitwise_and", "Tensor Scalar"), bitwise_and, bitwise_and),
      of_tensor_or_number(everywhere("bitwise_or", "Tensor Scalar"), bitwise_or, bitwise_or),
      of_tensor_or_number(everywhere("bitwise_xor", "Tensor Scalar"), bitwise_xor, bitwise_xor),
      of_two_tensors(everywhere("logical_and"), logical_and),
      of_two_tensors(everywhere("logical_or"), logical_or),
      of_two_tensors(everywhere("logical_xor"), logical_xor),
  };
  add_unary_functions(functions, {"bitwise_not", "logical_not", "isfinite", "isinf", "isnan"});
  return functions;
}

const PythonFamily logic_family(logic_functions);

}  // namespace

}  // namespace simmesh
