#include "core/ops/neural/pooling.h"

#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

Pooling2d pooling_of(const PythonCall& call) {
  Pooling2d options{.kernel = rows_columns(call, "kernel_size"),
                    .padding = rows_columns(call, "padding")};
  if (!call.dims("stride").empty()) options.stride = rows_columns(call, "stride");
  return options;
}

Pooling1d row_pooling_of(const PythonCall& call) {
  auto first = [&](const char* name, std::int64_t otherwise) {
    Dims dims = call.dims(name);
    return dims.empty() ? otherwise : dims[0];
  };
  return {.kernel = first("kernel_size", 1),
          .stride = first("stride", 0),
          .padding = first("padding", 0)};
}

PythonFunctions pooling_functions() {
  return {
      {"torch.nn.functional.max_pool1d torch.max_pool1d",
       PythonSignature("Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0"),
       [](PythonCall& call) -> PythonValue {
         return max_pool1d(call.tensor("self"), row_pooling_of(call));
       }},
      {"torch.nn.functional.avg_pool1d torch.avg_pool1d",
       PythonSignature("Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0, "
                       "bool ceil_mode=False, bool count_include_pad=True"),
       [](PythonCall& call) -> PythonValue {
         Pooling1d options = row_pooling_of(call);
         options.count_include_pad = call.flag("count_include_pad");
         options.ceil_mode = call.flag("ceil_mode");
         return avg_pool1d(call.tensor("self"), options);
       }},
      {"torch.nn.functional.adaptive_avg_pool2d aten._adaptive_avg_pool2d.default",
       PythonSignature("Tensor self, int[] output_size"),
       [](PythonCall& call) -> PythonValue {
         return adaptive_avg_pool2d(call.tensor("self"), rows_columns(call, "output_size"));
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
  };
}

const PythonFamily pooling_family(pooling_functions);

}  // namespace

}  // namespace simmesh
