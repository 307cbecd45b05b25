#include "core/ops/functions/differences.h"
#include "core/ops/functions/reordering.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/indexing/resampling.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Joining = Tensor (*)(gsl::span<const Tensor> tensors);

PythonFunction joining(std::string names, Joining function) {
  return {std::move(names), PythonSignature("Tensor[] tensors"),
          [=](PythonCall& call) -> PythonValue { return function(call.tensors("tensors")); }};
}

PythonValue pad_call(PythonCall& call) {
  std::string mode = call.text("mode");
  PadMode way = mode == "reflect"     ? PadMode::reflect
                : mode == "replicate" ? PadMode::replicate
                                      : PadMode::constant;
  return pad(call.tensor("self"), DimSpan(call.dims("pad")), way,
             call.has("value") ? call.real("value") : 0.0);
}

PythonFunctions cutting_functions() {
  return {
      {everywhere("split", "Tensor"),
       PythonSignature("Tensor self, int split_size_or_sections, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return split(call.tensor("self"), call.integer("split_size_or_sections"),
                      call.integer("dim"));
       }},
      {"torch.split Tensor.split aten.split_with_sizes.default",
       PythonSignature("Tensor self, int[] split_size_or_sections, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return split(call.tensor("self"), DimSpan(call.dims("split_size_or_sections")),
                      call.integer("dim"));
       }},
      {everywhere("chunk"), PythonSignature("Tensor self, int chunks, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return chunk(call.tensor("self"), call.integer("chunks"), call.integer("dim"));
       }},
      {everywhere("tensor_split", "sections"),
       PythonSignature("Tensor self, int indices_or_sections, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return tensor_split(call.tensor("self"), call.integer("indices_or_sections"),
                             call.integer("dim"));
       }},
      {everywhere("tensor_split", "indices"),
       PythonSignature("Tensor self, int[] indices_or_sections, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return tensor_split(call.tensor("self"), DimSpan(call.dims("indices_or_sections")),
                             call.integer("dim"));
       }},
      {everywhere("unbind", "int"), PythonSignature("Tensor self, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return unbind(call.tensor("self"), call.integer("dim"));
       }},
      {everywhere("diff"),
       PythonSignature("Tensor self, int n=1, int dim=-1, Tensor? prepend=None, "
                       "Tensor? append=None"),
       [](PythonCall& call) -> PythonValue {
         return diff(call.tensor("self"), {.times = call.integer("n"),
                                           .dim = call.integer("dim"),
                                           .prepend = call.tensor("prepend"),
                                           .append = call.tensor("append")});
       }},
  };
}

}  // namespace

PythonFunctions joining_functions() {
  PythonFunctions functions = {
      {"torch.cat torch.concat aten.cat.default", PythonSignature("Tensor[] tensors, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return cat(call.tensors("tensors"), call.integer("dim"));
       }},
      {"torch.stack aten.stack.default", PythonSignature("Tensor[] tensors, int dim=0"),
       [](PythonCall& call) -> PythonValue {
         return stack(call.tensors("tensors"), call.integer("dim"));
       }},
      joining("torch.hstack aten.hstack.default", hstack),
      joining("torch.vstack aten.vstack.default", vstack),
      {"torch.block_diag", PythonSignature("Tensor a, Tensor b"),
       [](PythonCall& call) -> PythonValue {
         return block_diag(std::vector<Tensor>{call.tensor("a"), call.tensor("b")});
       }},
      {"torch.nn.functional.pad",
       PythonSignature("Tensor self, int[] pad, str mode='constant', float? value=None"), pad_call},
      {"aten.constant_pad_nd.default", PythonSignature("Tensor self, int[] pad, Scalar value=0"),
       [](PythonCall& call) -> PythonValue {
         return pad(call.tensor("self"), DimSpan(call.dims("pad")), PadMode::constant,
                    call.real("value"));
       }},
      {everywhere("repeat_interleave", "self_int self_Tensor"),
       PythonSignature("Tensor self, Tensor|int repeats, int? dim=None"),
       [](PythonCall& call) -> PythonValue {
         Tensor self = call.tensor("self");
         if (!call.has("dim")) self = flatten(self);
         std::int64_t dim = call.has("dim") ? call.integer("dim") : 0;
         if (call.is_tensor("repeats")) return repeat_interleave(self, call.tensor("repeats"), dim);
         return repeat_interleave(self, call.integer("repeats"), dim);
       }},
  };
  for (PythonFunction& function : cutting_functions()) functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
