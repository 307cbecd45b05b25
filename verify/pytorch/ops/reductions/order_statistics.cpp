#include "core/ops/reductions/order_statistics.h"

#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions order_statistics_functions() {
  return {
      {everywhere("median"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return median(call.tensor("self")); }},
      {everywhere("median", "dim"), PythonSignature("Tensor self, int dim, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return values_and_indices(
             median(call.tensor("self"), call.integer("dim"), call.flag("keepdim")));
       }},
      {everywhere("mode"), PythonSignature("Tensor self, int dim=-1, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return values_and_indices(
             mode(call.tensor("self"), call.integer("dim"), call.flag("keepdim")));
       }},
  };
}

const PythonFamily order_statistics_family(order_statistics_functions);

}  // namespace

}  // namespace simmesh
