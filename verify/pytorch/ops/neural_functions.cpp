#include "core/check/error.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/resampling.h"
#include "core/ops/neural/convolution.h"
#include "core/ops/neural/pooling.h"
#include "core/ops/neural/softmax.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Activation = Tensor (*)(const Tensor& x);

PythonFunction activation(const std::string& name, Activation function) {
  return {"torch.nn.functional." + name + " aten." + name + ".default",
          PythonSignature("Tensor self, bool inplace=False"),
          [=](PythonCall& call) -> PythonValue { return function(call.tensor("self")); }};
}

// One number stands for rows and columns.
RowsColumns rows_columns(const PythonCall& call, std::string_view name) {
  Dims dims = call.dims(name);
  if (dims.empty() || dims.size() > 2)
    raise(ErrorKind::runtime_error, "verify/pytorch", "expected one or two numbers as {}, got {}",
          name, dims.size());
  return {dims.front(), dims.back()};
}

Pooling2d pooling_of(const PythonCall& call) {
  Pooling2d options{.kernel = rows_columns(call, "kernel_size"),
                    .padding = rows_columns(call, "padding")};
  if (!call.dims("stride").empty()) options.stride = rows_columns(call, "stride");
  return options;
}

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

PythonValue convolution_call(PythonCall& call) { return convolved(call, call.tensor("self")); }

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

using SoftmaxOf = Tensor (*)(const Tensor& x, std::int64_t dim, std::optional<DType> dtype);

void add_softmax(PythonFunctions& functions, const std::string& name, SoftmaxOf function) {
  functions.push_back({"torch.nn.functional." + name + " torch." + name + " Tensor." + name +
                           " aten." + name + ".int",
                       PythonSignature("Tensor self, int dim, *, dtype? dtype=None"),
                       [=](PythonCall& call) -> PythonValue {
                         return function(call.tensor("self"), call.integer("dim"),
                                         call.dtype("dtype"));
                       }});
  functions.push_back({"aten._" + name + ".default",
                       PythonSignature("Tensor self, int dim, bool half_to_float"),
                       [=](PythonCall& call) -> PythonValue {
                         return function(call.tensor("self"), call.integer("dim"), {});
                       }});
}

PythonFunctions window_functions() {
  const char* convolution =
      "Tensor self, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, "
      "int[] dilation=1, int groups=1";
  return {
      {"torch.nn.functional.conv1d torch.nn.functional.conv2d", PythonSignature(convolution),
       convolution_call},
      {"aten.convolution.default",
       PythonSignature("Tensor self, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
                       "int[] dilation, bool transposed, int[] output_padding, int groups"),
       [](PythonCall& call) -> PythonValue {
         if (call.flag("transposed"))
           raise(ErrorKind::not_implemented_error, "verify/pytorch",
                 "expected a convolution that isn't transposed");
         return convolved(call, call.tensor("self"));
       }},
      {"torch.nn.functional.max_pool2d torch.max_pool2d",
       PythonSignature("Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0"),
       [](PythonCall& call) -> PythonValue {
         return max_pool2d(call.tensor("self"), pooling_of(call));
       }},
      {"torch.nn.functional.avg_pool2d aten.avg_pool2d.default",
       PythonSignature("Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0, "
                       "bool ceil_mode=False, bool count_include_pad=True"),
       [](PythonCall& call) -> PythonValue {
         Pooling2d options = pooling_of(call);
         options.count_include_pad = call.flag("count_include_pad");
         options.ceil_mode = call.flag("ceil_mode");
         return avg_pool2d(call.tensor("self"), options);
       }},
      {"torch.nn.functional.interpolate",
       PythonSignature("Tensor self, int[]? size=None, Scalar? scale_factor=None, "
                       "str mode='nearest'"),
       [](PythonCall& call) -> PythonValue {
         if (call.text("mode") != "nearest")
           raise(ErrorKind::not_implemented_error, "verify/pytorch",
                 "expected the mode nearest, got {}", call.text("mode"));
         Upsampling options{.size = call.dims("size")};
         if (call.has("scale_factor")) options.scale = call.real("scale_factor");
         return upsample_nearest(call.tensor("self"), options);
       }},
  };
}

}  // namespace

PythonFunctions neural_functions() {
  PythonFunctions functions = {
      activation("relu", relu),
      activation("relu6", relu6),
      activation("silu", silu),
      activation("mish", mish),
      activation("logsigmoid", logsigmoid),
      activation("hardsigmoid", hardsigmoid),
      activation("hardswish", hardswish),
  };
  add_softmax(functions, "softmax", softmax);
  add_softmax(functions, "log_softmax", log_softmax);
  for (PythonFunction& function : parametrized_activations())
    functions.push_back(std::move(function));
  for (PythonFunction& function : window_functions()) functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
