#include "core/ops/reductions/sums.h"

#include "core/ops/call.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/registry/registry.h"
#include "sharding/strategies/strategy.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

using Summing = Tensor (*)(const Tensor& x, const DimList& dims, bool keepdim,
                           std::optional<DType> dtype);

// A dim that isn't given, like an empty list of them, means all dims.
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
         // PyTorch takes it that no part of a partial sum is NaN.
         Attributes attributes = reduction_attributes(call.dims("dim"), call.flag("keepdim"));
         attributes.set(attribute::passes_partial = true);
         return call_one(*find_op("nansum"), {call.tensor("self")}, attributes);
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
