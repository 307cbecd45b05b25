#include "core/ops/reductions/running_extremes.h"

#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions running_extremes_functions() {
  return {
      {everywhere("cummax"), PythonSignature("Tensor self, int dim"),
       [](PythonCall& call) -> PythonValue {
         return values_and_indices(cummax(call.tensor("self"), call.integer("dim")));
       }},
      {everywhere("cummin"), PythonSignature("Tensor self, int dim"),
       [](PythonCall& call) -> PythonValue {
         return values_and_indices(cummin(call.tensor("self"), call.integer("dim")));
       }},
  };
}

const PythonFamily running_extremes_family(running_extremes_functions);

}  // namespace

}  // namespace simmesh
