#include "core/ops/neural/convolution.h"

#include "core/check/error.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

Tensor convolved(const PythonCall& call, std::int64_t weight_dims = 0) {
  Tensor weight = call.tensor("weight");
  if (weight_dims > 0 && weight.dim() != weight_dims)
    raise(ErrorKind::runtime_error, "verify/pytorch", "expected a weight of {} dims, got {}",
          weight_dims, to_string(DimSpan(weight.shape())));
  return convolution(call.tensor("self"), weight, call.tensor("bias"),
                     {.stride = call.dims("stride"),
                      .padding = call.dims("padding"),
                      .dilation = call.dims("dilation"),
                      .groups = call.integer("groups")});
}

PythonFunction convolving(const char* name, std::int64_t weight_dims) {
  return {name,
          PythonSignature(
              "Tensor self, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, "
              "int[] dilation=1, int groups=1"),
          [=](PythonCall& call) -> PythonValue { return convolved(call, weight_dims); }};
}

PythonFunctions convolution_functions() {
  return {
      convolving("torch.nn.functional.conv1d torch.conv1d", 3),
      convolving("torch.nn.functional.conv2d torch.conv2d", 4),
      convolving("torch.nn.functional.conv3d torch.conv3d", 5),
      {"aten.convolution.default",
       PythonSignature("Tensor self, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
                       "int[] dilation, bool transposed, int[] output_padding, int groups"),
       [](PythonCall& call) -> PythonValue {
         if (call.flag("transposed"))
           raise(ErrorKind::not_implemented_error, "verify/pytorch",
                 "expected a convolution that isn't transposed");
         return convolved(call);
       }},
  };
}

const PythonFamily convolution_family(convolution_functions);

}  // namespace

}  // namespace simmesh
