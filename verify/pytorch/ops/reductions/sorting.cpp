#include "core/ops/reductions/sorting.h"

#include "verify/pytorch/ops/call_arguments.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

SearchOptions search_of(const PythonCall& call) {
  return {.right = call.flag("right"), .out_int32 = call.flag("out_int32")};
}

PythonFunctions searching_functions() {
  return {
      {everywhere("bucketize", "Tensor"),
       PythonSignature("Tensor self, Tensor boundaries, *, bool out_int32=False, "
                       "bool right=False"),
       [](PythonCall& call) -> PythonValue {
         return bucketize(call.tensor("self"), call.tensor("boundaries"), search_of(call));
       }},
      {everywhere("searchsorted", "Tensor"),
       PythonSignature("Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
                       "bool right=False"),
       [](PythonCall& call) -> PythonValue {
         return searchsorted(call.tensor("sorted_sequence"), call.tensor("self"), search_of(call));
       }},
      {everywhere("histc"),
       PythonSignature("Tensor self, int bins=100, Scalar min=0, Scalar max=0"),
       [](PythonCall& call) -> PythonValue {
         return histc(
             call.tensor("self"),
             {.bins = call.integer("bins"), .low = call.real("min"), .high = call.real("max")});
       }},
      {"torch.unique Tensor.unique", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return unique(call.tensor("self")).values; }},
  };
}

PythonFunctions sorting_functions() {
  PythonFunctions functions = {
      {everywhere("sort", "default stable"),
       PythonSignature("Tensor self, int dim=-1, bool descending=False, *, bool stable=False"),
       [](PythonCall& call) -> PythonValue {
         return values_and_indices(
             sort(call.tensor("self"), call.integer("dim"), call.flag("descending")));
       }},
      {everywhere("argsort", "default stable"),
       PythonSignature("Tensor self, int dim=-1, bool descending=False, *, bool stable=False"),
       [](PythonCall& call) -> PythonValue {
         return argsort(call.tensor("self"), call.integer("dim"), call.flag("descending"));
       }},
      {everywhere("topk"),
       PythonSignature("Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True"),
       [](PythonCall& call) -> PythonValue {
         return values_and_indices(topk(call.tensor("self"), {.k = call.integer("k"),
                                                              .dim = call.integer("dim"),
                                                              .largest = call.flag("largest")}));
       }},
      {everywhere("kthvalue"),
       PythonSignature("Tensor self, int k, int dim=-1, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return values_and_indices(
             kthvalue(call.tensor("self"), {.k = call.integer("k"),
                                            .dim = call.integer("dim"),
                                            .keepdim = call.flag("keepdim")}));
       }},
  };
  for (PythonFunction& function : searching_functions()) functions.push_back(std::move(function));
  return functions;
}

const PythonFamily sorting_family(sorting_functions);

}  // namespace

}  // namespace simmesh
