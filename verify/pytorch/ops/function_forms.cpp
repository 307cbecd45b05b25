#include "verify/pytorch/ops/function_forms.h"

#include "core/check/check.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/registry/registry.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

namespace {

// Ops whose results are of another dtype or a view have no form in place.
bool has_form_in_place(std::string_view name) {
  return name != "angle" && name != "isfinite" && name != "isinf" && name != "isnan" &&
         name != "positive";
}

}  // namespace

PythonFunction of_tensor(std::string names, Tensor (*function)(const Tensor& x)) {
  return {std::move(names), PythonSignature("Tensor self"),
          [=](PythonCall& call) -> PythonValue { return function(call.tensor("self")); }};
}

PythonFunction of_two_tensors(std::string names,
                              Tensor (*function)(const Tensor& a, const Tensor& b)) {
  return {std::move(names), PythonSignature("Tensor self, Tensor other"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.tensor("other"));
          }};
}

PythonFunction of_tensor_or_number(std::string names,
                                   Tensor (*of_tensors)(const Tensor& a, const Tensor& b),
                                   Tensor (*of_number)(const Tensor& a, Number b)) {
  return {std::move(names), PythonSignature("Tensor self, Tensor|Scalar other"),
          [=](PythonCall& call) -> PythonValue {
            if (call.is_tensor("other"))
              return of_tensors(call.tensor("self"), call.tensor("other"));
            return of_number(call.tensor("self"), call.number("other"));
          }};
}

PythonFunction with_sizes(std::string names, const char* signature, const char* sizes,
                          Tensor (*function)(const Tensor& x, DimSpan sizes)) {
  return {std::move(names), PythonSignature(signature), [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.dims(sizes));
          }};
}

PythonFunction over_dims(std::string names,
                         Tensor (*function)(const Tensor& x, const DimList& dims, bool keepdim)) {
  return {std::move(names), PythonSignature("Tensor self, int[]? dim=None, bool keepdim=False"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.dims("dim"), call.flag("keepdim"));
          }};
}

Tensor nansum_of_parts(const Tensor& x, const Dims& dims, bool keepdim) {
  Attributes attributes = reduction_attributes(dims, keepdim);
  attributes.set(attribute::passes_partial = true);
  return call_one(*find_op("nansum"), {x}, attributes);
}

PythonFunction scan_along_dim(std::string names,
                              Tensor (*function)(const Tensor& x, std::int64_t dim)) {
  return {std::move(names), PythonSignature("Tensor self, int dim, *, dtype? dtype=None"),
          [=](PythonCall& call) -> PythonValue {
            Tensor self = call.tensor("self");
            if (auto dtype = call.dtype("dtype")) self = to(self, *dtype);
            return function(self, call.integer("dim"));
          }};
}

void add_unary_functions(PythonFunctions& functions, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Op* op = find_op(name);
    SIMMESH_CHECK(op, "no op {}", name);
    functions.push_back(
        {everywhere(name), PythonSignature("Tensor self"),
         [op](PythonCall& call) -> PythonValue { return call_one(*op, {call.tensor("self")}); }});
    if (!has_form_in_place(name)) continue;
    functions.push_back({everywhere(std::string(name) + "_"), PythonSignature("Tensor self"),
                         [op](PythonCall& call) -> PythonValue {
                           Tensor& self = call.target();
                           return call_in_place(*op, self, {self});
                         }});
  }
}

}  // namespace simmesh
