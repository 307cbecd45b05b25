#include "core/ops/neural/softmax_backward.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions softmax_backward_functions() {
  return {
      {"aten._softmax_backward_data.default",
       PythonSignature("Tensor grad_output, Tensor output, int dim, dtype input_dtype"),
       [](PythonCall& call) -> PythonValue {
         return softmax_backward(call.tensor("grad_output"), call.tensor("output"),
                                 call.integer("dim"));
       }},
      {"aten._log_softmax_backward_data.default",
       PythonSignature("Tensor grad_output, Tensor output, int dim, dtype input_dtype"),
       [](PythonCall& call) -> PythonValue {
         return log_softmax_backward(call.tensor("grad_output"), call.tensor("output"),
                                     call.integer("dim"));
       }},
  };
}

const PythonFamily softmax_backward_family(softmax_backward_functions);

}  // namespace

}  // namespace simmesh
