#include "core/ops/elementwise/conversion.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/reductions/logcumsumexp.h"
#include "core/ops/reductions/membership.h"
#include "core/ops/reductions/order_statistics.h"
#include "core/ops/reductions/running_extremes.h"
#include "core/ops/reductions/scans.h"
#include "core/ops/reductions/sorting.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

std::vector<Tensor> both(const ValuesAndIndices& found) { return {found.values, found.indices}; }
std::vector<Tensor> both(const Sorted& found) { return {found.values, found.indices}; }

using Scan = Tensor (*)(const Tensor& x, std::int64_t dim);

// A dtype is what the elements are converted to first.
PythonFunction scan(std::string names, Scan function) {
  return {std::move(names), PythonSignature("Tensor self, int dim, *, dtype? dtype=None"),
          [=](PythonCall& call) -> PythonValue {
            Tensor self = call.tensor("self");
            if (auto dtype = call.dtype("dtype")) self = to(self, *dtype);
            return function(self, call.integer("dim"));
          }};
}

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
      {everywhere("isin", "Tensor_Tensor"),
       PythonSignature("Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
                       "bool invert=False"),
       [](PythonCall& call) -> PythonValue {
         return isin(call.tensor("elements"), call.tensor("test_elements"), call.flag("invert"));
       }},
      {everywhere("bincount"),
       PythonSignature("Tensor self, Tensor? weights=None, int minlength=0"),
       [](PythonCall& call) -> PythonValue {
         return bincount(call.tensor("self"), call.tensor("weights"), call.integer("minlength"));
       }},
      {"torch.unique Tensor.unique", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return unique(call.tensor("self")).values; }},
      {everywhere("nonzero"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return nonzero(call.tensor("self")); }},
  };
}

PythonFunctions rank_functions() {
  return {
      {everywhere("median"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return median(call.tensor("self")); }},
      {everywhere("median", "dim"), PythonSignature("Tensor self, int dim, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return both(median(call.tensor("self"), call.integer("dim"), call.flag("keepdim")));
       }},
      {everywhere("kthvalue"),
       PythonSignature("Tensor self, int k, int dim=-1, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return both(kthvalue(call.tensor("self"), {.k = call.integer("k"),
                                                    .dim = call.integer("dim"),
                                                    .keepdim = call.flag("keepdim")}));
       }},
      {everywhere("topk"),
       PythonSignature("Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True"),
       [](PythonCall& call) -> PythonValue {
         return both(topk(call.tensor("self"), {.k = call.integer("k"),
                                                .dim = call.integer("dim"),
                                                .largest = call.flag("largest")}));
       }},
      {everywhere("sort", "default stable"),
       PythonSignature("Tensor self, int dim=-1, bool descending=False, *, bool stable=False"),
       [](PythonCall& call) -> PythonValue {
         return both(sort(call.tensor("self"), call.integer("dim"), call.flag("descending")));
       }},
      {everywhere("argsort", "default stable"),
       PythonSignature("Tensor self, int dim=-1, bool descending=False, *, bool stable=False"),
       [](PythonCall& call) -> PythonValue {
         return argsort(call.tensor("self"), call.integer("dim"), call.flag("descending"));
       }},
      {everywhere("cummax"), PythonSignature("Tensor self, int dim"),
       [](PythonCall& call) -> PythonValue {
         return both(cummax(call.tensor("self"), call.integer("dim")));
       }},
      {everywhere("cummin"), PythonSignature("Tensor self, int dim"),
       [](PythonCall& call) -> PythonValue {
         return both(cummin(call.tensor("self"), call.integer("dim")));
       }},
  };
}

}  // namespace

PythonFunctions ordering_functions() {
  PythonFunctions functions = {
      scan(everywhere("cumsum"), cumsum),
      scan(everywhere("cumprod"), cumprod),
      scan(everywhere("logcumsumexp"), logcumsumexp),
  };
  for (PythonFunction& function : rank_functions()) functions.push_back(std::move(function));
  for (PythonFunction& function : searching_functions()) functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
