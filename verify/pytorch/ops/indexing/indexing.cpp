#include "core/ops/indexing/indexing.h"

#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonFunctions indexing_functions() {
  return {
      {"aten.index.Tensor", PythonSignature("Tensor self, Tensor?[] indices"),
       [](PythonCall& call) -> PythonValue {
         return index(call.tensor("self"), call.tensors("indices"));
       }},
      {everywhere("index_put"),
       PythonSignature("Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False"),
       [](PythonCall& call) -> PythonValue {
         return index_put(call.tensor("self"), call.tensors("indices"), call.tensor("values"),
                          call.flag("accumulate"));
       }},
      {everywhere("masked_select"), PythonSignature("Tensor self, Tensor mask"),
       [](PythonCall& call) -> PythonValue {
         return masked_select(call.tensor("self"), call.tensor("mask"));
       }},
      {everywhere("nonzero") + " torch.argwhere Tensor.argwhere", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return nonzero(call.tensor("self")); }},
      {everywhere("nonzero_static"), PythonSignature("Tensor self, *, int size, int fill_value=-1"),
       [](PythonCall& call) -> PythonValue {
         return nonzero_static(call.tensor("self"), call.integer("size"),
                               call.integer("fill_value"));
       }},
  };
}

const PythonFamily indexing_family(indexing_functions);

}  // namespace

}  // namespace simmesh
