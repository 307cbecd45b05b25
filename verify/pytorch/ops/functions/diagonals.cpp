#include "core/ops/functions/diagonals.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions diagonals_functions() {
  return {
      {everywhere("trace"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return trace(call.tensor("self")); }},
  };
}

const PythonFamily diagonals_family(diagonals_functions);

}  // namespace

}  // namespace simmesh
