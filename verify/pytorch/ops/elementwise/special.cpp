#include "core/ops/elementwise/special.h"

#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunction shrinking(const std::string& name, Tensor (*function)(const Tensor&, double)) {
  return {"torch.nn.functional." + name + " aten." + name + ".default",
          PythonSignature("Tensor self, Scalar lambd=0.5"), [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.real("lambd"));
          }};
}

// Returns the weights, one for each channel, in the place of dim 1.
Tensor of_channels(const Tensor& weight, const Tensor& x) {
  if (x.dim() == 0 || weight.dim() == 0) return weight;
  Shape shape(x.shape().size(), 1);
  shape[x.dim() > 1 ? 1 : 0] = weight.numel();
  return view(weight, shape);
}

PythonFunctions special_functions() {
  PythonFunctions functions = {
      of_two_tensors(everywhere("heaviside"), heaviside),
      of_two_tensors(everywhere("gcd"), gcd),
      of_two_tensors(everywhere("lcm"), lcm),
      of_tensor(everywhere("signbit"), signbit),
      of_tensor(everywhere("isposinf"), isposinf),
      of_tensor(everywhere("isneginf"), isneginf),
      of_tensor("torch.special.entr aten.special_entr.default", entr),
      of_tensor("torch.special.erfinv", erfinv),
      of_tensor("torch.special.i0", i0),
      of_tensor("torch.special.sinc", sinc),
      shrinking("hardshrink", hardshrink),
      shrinking("softshrink", softshrink),
      {everywhere("logit") + " torch.special.logit",
       PythonSignature("Tensor self, float? eps=None"),
       [](PythonCall& call) -> PythonValue {
         if (!call.has("eps")) return logit(call.tensor("self"));
         return logit(call.tensor("self"), call.real("eps"));
       }},
      {"torch.nn.functional.celu aten.celu.default torch.celu",
       PythonSignature("Tensor self, Scalar alpha=1.0, bool inplace=False"),
       [](PythonCall& call) -> PythonValue {
         return celu(call.tensor("self"), call.real("alpha"));
       }},
      {"torch.nn.functional.selu torch.selu aten.selu.default",
       PythonSignature("Tensor self, bool inplace=False"),
       [](PythonCall& call) -> PythonValue {
         constexpr double alpha = 1.6732632423543772848170429916717;
         constexpr double scale = 1.0507009873554804934193349852946;
         return mul(elu(call.tensor("self"), alpha), scale);
       }},
      {"torch.nn.functional.prelu torch.prelu aten.prelu.default",
       PythonSignature("Tensor self, Tensor weight"),
       [](PythonCall& call) -> PythonValue {
         Tensor x = call.tensor("self");
         return prelu_kernel(x, of_channels(call.tensor("weight"), x));
       }},
  };
  add_unary_functions(functions, {"angle", "deg2rad", "erfinv", "frac", "i0", "rad2deg", "sinc"});
  return functions;
}

const PythonFamily special_family(special_functions);

}  // namespace

}  // namespace simmesh
