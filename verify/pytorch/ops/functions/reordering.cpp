#include "core/ops/functions/reordering.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions reordering_functions() {
  return {
      {everywhere("transpose_"), PythonSignature("Tensor self, int dim0, int dim1"),
       [](PythonCall& call) -> PythonValue {
         return transpose_(call.target(), call.integer("dim0"), call.integer("dim1"));
       }},
      {everywhere("t_"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return t_(call.target()); }},
      {everywhere("movedim") + " torch.moveaxis",
       PythonSignature("Tensor self, int[] source, int[] destination"),
       [](PythonCall& call) -> PythonValue {
         return movedim(call.tensor("self"), call.dims("source"), call.dims("destination"));
       }},
      {everywhere("unsqueeze_"), PythonSignature("Tensor self, int dim"),
       [](PythonCall& call) -> PythonValue {
         return unsqueeze_(call.target(), call.integer("dim"));
       }},
      {everywhere("squeeze_", "default dim"), PythonSignature("Tensor self, int? dim=None"),
       [](PythonCall& call) -> PythonValue {
         return squeeze_(call.target(), call.integer_if("dim"));
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
  };
}

const PythonFamily reordering_family(reordering_functions);

}  // namespace

}  // namespace simmesh
