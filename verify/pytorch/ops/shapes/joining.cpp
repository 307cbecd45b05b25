#include "core/ops/shapes/joining.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Joining = Tensor (*)(gsl::span<const Tensor> tensors);

PythonFunction joining(std::string names, Joining function) {
  return {std::move(names), PythonSignature("Tensor[] tensors"),
          [=](PythonCall& call) -> PythonValue { return function(call.tensors("tensors")); }};
}

PythonFunctions joining_functions() {
  return {
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
  };
}

const PythonFamily joining_family(joining_functions);

}  // namespace

}  // namespace simmesh
