#include "core/ops/elementwise/activations.h"

#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Activation = Tensor (*)(const Tensor& x);

PythonFunction activation(const std::string& name, Activation function) {
  return {"torch.nn.functional." + name + " aten." + name + ".default",
          PythonSignature("Tensor self, bool inplace=False"),
          [=](PythonCall& call) -> PythonValue { return function(call.tensor("self")); }};
}

PythonFunctions parametrized_activations() {
  return {
      {"torch.nn.functional.hardtanh aten.hardtanh.default",
       PythonSignature("Tensor self, Scalar min_val=-1.0, Scalar max_val=1.0, bool inplace=False"),
       [](PythonCall& call) -> PythonValue {
         return hardtanh(call.tensor("self"), call.number("min_val"), call.number("max_val"));
       }},
      {"torch.nn.functional.leaky_relu aten.leaky_relu.default",
       PythonSignature("Tensor self, Scalar negative_slope=0.01, bool inplace=False"),
       [](PythonCall& call) -> PythonValue {
         return leaky_relu(call.tensor("self"), call.real("negative_slope"));
       }},
      {"torch.nn.functional.threshold aten.threshold.default torch.threshold",
       PythonSignature("Tensor self, Scalar threshold, Scalar value, bool inplace=False"),
       [](PythonCall& call) -> PythonValue {
         return threshold(call.tensor("self"), call.number("threshold"), call.number("value"));
       }},
      {"torch.nn.functional.gelu aten.gelu.default",
       PythonSignature("Tensor self, *, str approximate='none'"),
       [](PythonCall& call) -> PythonValue {
         return gelu(call.tensor("self"),
                     call.text("approximate") == "tanh" ? Gelu::tanh : Gelu::none);
       }},
      {"torch.nn.functional.softplus aten.softplus.default",
       PythonSignature("Tensor self, Scalar beta=1, Scalar threshold=20"),
       [](PythonCall& call) -> PythonValue {
         return softplus(call.tensor("self"),
                         {.beta = call.real("beta"), .threshold = call.real("threshold")});
       }},
      {"torch.nn.functional.elu", PythonSignature("Tensor self, float alpha=1, bool inplace=False"),
       [](PythonCall& call) -> PythonValue {
         return elu(call.tensor("self"), call.real("alpha"));
       }},
      {"aten.elu.default", PythonSignature("Tensor self, Scalar alpha=1"),
       [](PythonCall& call) -> PythonValue {
         return elu(call.tensor("self"), call.real("alpha"));
       }},
      // The second result is what the backward pass uses again.
      {"aten.log_sigmoid_forward.default", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         return std::vector<Tensor>{logsigmoid(x), exp(neg(abs(x)))};
       }},
  };
}

PythonFunctions activations_functions() {
  PythonFunctions functions = {
      activation("relu", relu),
      activation("relu6", relu6),
      activation("silu", silu),
      activation("mish", mish),
      activation("logsigmoid", logsigmoid),
      activation("hardsigmoid", hardsigmoid),
      activation("hardswish", hardswish),
  };
  add_unary_functions(functions, {"relu"});
  for (PythonFunction& function : parametrized_activations())
    functions.push_back(std::move(function));
  return functions;
}

const PythonFamily activations_family(activations_functions);

}  // namespace

}  // namespace simmesh
