#include "core/ops/reductions/sums.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Summing = Tensor (*)(const Tensor& x, const DimList& dims, bool keepdim,
                           std::optional<DType> dtype);

// No dim, like an empty list, means all dims.
PythonFunction summing(std::string names, Summing function) {
  return {std::move(names),
          PythonSignature("Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.dims("dim"), call.flag("keepdim"),
                            call.dtype("dtype"));
          }};
}

PythonValue prod_call(PythonCall& call) {
  if (!call.has("dim")) return prod(call.tensor("self"), call.dtype("dtype"));
  return prod(call.tensor("self"), call.dims("dim"), call.flag("keepdim"), call.dtype("dtype"));
}

PythonFunctions sums_functions() {
  return {
      summing(everywhere("sum", "default dim_IntList"), sum),
      summing(everywhere("mean", "default dim"), mean),
      {everywhere("prod", "default dim_int"),
       PythonSignature("Tensor self, int? dim=None, bool keepdim=False, *, dtype? dtype=None"),
       prod_call},
      {everywhere("nansum"), PythonSignature("Tensor self, int[]? dim=None, bool keepdim=False"),
       [](PythonCall& call) -> PythonValue {
         return nansum_of_parts(call.tensor("self"), call.dims("dim"), call.flag("keepdim"));
       }},
      over_dims(everywhere("any", "default dim dims"), any),
      over_dims(everywhere("all", "default dim dims"), all),
      {everywhere("count_nonzero", "default dim_IntList"),
       PythonSignature("Tensor self, int[]? dim=None"),
       [](PythonCall& call) -> PythonValue {
         return count_nonzero(call.tensor("self"), call.dims("dim"));
       }},
  };
}

const PythonFamily sums_family(sums_functions);

}  // namespace

}  // namespace simmesh
