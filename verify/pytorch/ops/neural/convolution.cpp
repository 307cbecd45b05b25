#include "core/ops/neural/convolution.h"

#include "core/check/error.h"
#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

Tensor convolved(const PythonCall& call, const Tensor& x) {
  Tensor weight = call.tensor("weight"), bias = call.tensor("bias");
  std::int64_t groups = call.integer("groups");
  if (weight.dim() == 3)
    return conv1d(x, weight, bias,
                  {.stride = call.dims("stride")[0],
                   .padding = call.dims("padding")[0],
                   .dilation = call.dims("dilation")[0],
                   .groups = groups});
  return conv2d(x, weight, bias,
                {.stride = rows_columns(call, "stride"),
                 .padding = rows_columns(call, "padding"),
                 .dilation = rows_columns(call, "dilation"),
                 .groups = groups});
}

PythonFunctions convolution_functions() {
  return {
      {"torch.nn.functional.conv1d torch.nn.functional.conv2d",
       PythonSignature(
           "Tensor self, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, "
           "int[] dilation=1, int groups=1"),
       [](PythonCall& call) -> PythonValue { return convolved(call, call.tensor("self")); }},
      {"aten.convolution.default",
       PythonSignature("Tensor self, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
                       "int[] dilation, bool transposed, int[] output_padding, int groups"),
       [](PythonCall& call) -> PythonValue {
         if (call.flag("transposed"))
           raise(ErrorKind::not_implemented_error, "verify/pytorch",
                 "expected a convolution that isn't transposed");
         return convolved(call, call.tensor("self"));
       }},
  };
}

const PythonFamily convolution_family(convolution_functions);

}  // namespace

}  // namespace simmesh
