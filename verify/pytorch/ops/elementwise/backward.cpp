#include "core/ops/elementwise/backward.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using OfResult = Tensor (*)(const Tensor& gradient, const Tensor& of);

PythonFunction backward_of(const std::string& name, const char* signature, OfResult function) {
  return {"aten." + name + ".default", PythonSignature(signature),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("grad_output"), call.tensor("self"));
          }};
}

PythonFunctions backward_functions() {
  return {
      backward_of("sigmoid_backward", "Tensor grad_output, Tensor self", sigmoid_backward),
      backward_of("tanh_backward", "Tensor grad_output, Tensor self", tanh_backward),
      backward_of("silu_backward", "Tensor grad_output, Tensor self", silu_backward),
      {"aten.threshold_backward.default",
       PythonSignature("Tensor grad_output, Tensor self, Scalar threshold"),
       [](PythonCall& call) -> PythonValue {
         return threshold_backward(call.tensor("grad_output"), call.tensor("self"),
                                   call.number("threshold"));
       }},
      {"aten.gelu_backward.default",
       PythonSignature("Tensor grad_output, Tensor self, *, str approximate='none'"),
       [](PythonCall& call) -> PythonValue {
         return gelu_backward(call.tensor("grad_output"), call.tensor("self"),
                              call.text("approximate") == "tanh" ? Gelu::tanh : Gelu::none);
       }},
  };
}

const PythonFamily backward_family(backward_functions);

}  // namespace

}  // namespace simmesh
