#include "core/ops/indexing/rearranging.h"

#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonValue pad_call(PythonCall& call) {
  std::string mode = call.text("mode");
  PadMode way = mode == "reflect"     ? PadMode::reflect
                : mode == "replicate" ? PadMode::replicate
                                      : PadMode::constant;
  return pad(call.tensor("self"), DimSpan(call.dims("pad")), way,
             call.has("value") ? call.real("value") : 0.0);
}

PythonFunctions rearranging_functions() {
  return {
      {everywhere("flip"), PythonSignature("Tensor self, int[] dims"),
       [](PythonCall& call) -> PythonValue {
         return flip(call.tensor("self"), call.dims("dims"));
       }},
      {everywhere("roll"), PythonSignature("Tensor self, int[] shifts, int[]? dims=None"),
       [](PythonCall& call) -> PythonValue {
         return roll(call.tensor("self"), call.dims("shifts"), call.dims("dims"));
       }},
      {everywhere("tril"), PythonSignature("Tensor self, int diagonal=0"),
       [](PythonCall& call) -> PythonValue {
         return tril(call.tensor("self"), call.integer("diagonal"));
       }},
      {everywhere("triu"), PythonSignature("Tensor self, int diagonal=0"),
       [](PythonCall& call) -> PythonValue {
         return triu(call.tensor("self"), call.integer("diagonal"));
       }},
      with_sizes("Tensor.repeat aten.repeat.default", "Tensor self, int[] repeats", "repeats",
                 repeat),
      with_sizes(everywhere("tile"), "Tensor self, int[] dims", "dims", tile),
      {everywhere("repeat_interleave", "self_int self_Tensor"),
       PythonSignature("Tensor self, Tensor|int repeats, int? dim=None"),
       [](PythonCall& call) -> PythonValue {
         Tensor self = call.tensor("self");
         if (!call.has("dim")) self = flatten(self);
         std::int64_t dim = call.has("dim") ? call.integer("dim") : 0;
         if (call.is_tensor("repeats")) return repeat_interleave(self, call.tensor("repeats"), dim);
         return repeat_interleave(self, call.integer("repeats"), dim);
       }},
      {"torch.nn.functional.pad",
       PythonSignature("Tensor self, int[] pad, str mode='constant', float? value=None"), pad_call},
      {"aten.constant_pad_nd.default", PythonSignature("Tensor self, int[] pad, Scalar value=0"),
       [](PythonCall& call) -> PythonValue {
         return pad(call.tensor("self"), DimSpan(call.dims("pad")), PadMode::constant,
                    call.real("value"));
       }},
  };
}

const PythonFamily rearranging_family(rearranging_functions);

}  // namespace

}  // namespace simmesh
