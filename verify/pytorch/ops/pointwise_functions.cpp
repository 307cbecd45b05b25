#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/registry/registry.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

// Functions of one tensor that are one op of the same name here.
constexpr const char* unary_names[] = {
    "abs",         "acos",       "acosh", "asin",  "asinh",    "atan",        "atanh",
    "bitwise_not", "ceil",       "cos",   "cosh",  "digamma",  "erf",         "erfc",
    "exp",         "exp2",       "expm1", "floor", "isfinite", "isinf",       "isnan",
    "lgamma",      "log",        "log10", "log1p", "log2",     "logical_not", "neg",
    "positive",    "reciprocal", "relu",  "round", "rsqrt",    "sgn",         "sigmoid",
    "sign",        "sin",        "sinh",  "sqrt",  "tan",      "tanh",        "trunc"};

// Functions of the elements that are defined on booleans only as results have no form in place.
bool has_form_in_place(std::string_view name) {
  return name != "isfinite" && name != "isinf" && name != "isnan" && name != "positive";
}

void add_unary_functions(PythonFunctions& functions) {
  for (const char* name : unary_names) {
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

NanToNum nan_to_num_of(const PythonCall& call) {
  NanToNum options;
  if (call.has("nan")) options.nan = call.real("nan");
  if (call.has("posinf")) options.positive_infinity = call.real("posinf");
  if (call.has("neginf")) options.negative_infinity = call.real("neginf");
  return options;
}

PythonValue clamp_call(PythonCall& call) {
  Tensor self = call.tensor("self");
  if (!call.is_tensor("min") && !call.is_tensor("max"))
    return clamp(self, call.number_if("min"), call.number_if("max"));
  if (!call.has("max")) return clamp_min(self, call.tensor("min"));
  if (!call.has("min")) return clamp_max(self, call.tensor("max"));
  return clamp(self, call.tensor("min"), call.tensor("max"));
}

}  // namespace

PythonFunctions pointwise_functions() {
  PythonFunctions functions = {
      {"torch.nan_to_num Tensor.nan_to_num aten.nan_to_num.default",
       PythonSignature("Tensor self, float? nan=None, float? posinf=None, float? neginf=None"),
       [](PythonCall& call) -> PythonValue {
         return nan_to_num(call.tensor("self"), nan_to_num_of(call));
       }},
      {everywhere("clamp", "default Tensor"),
       PythonSignature("Tensor self, Tensor?|Scalar min=None, Tensor?|Scalar max=None"),
       clamp_call},
      {everywhere("clip", "default Tensor"),
       PythonSignature("Tensor self, Tensor?|Scalar min=None, Tensor?|Scalar max=None"),
       clamp_call},
      {everywhere("clamp_min", "default Tensor"), PythonSignature("Tensor self, Tensor|Scalar min"),
       [](PythonCall& call) -> PythonValue {
         if (call.is_tensor("min")) return clamp_min(call.tensor("self"), call.tensor("min"));
         return clamp_min(call.tensor("self"), call.number("min"));
       }},
      {everywhere("clamp_max", "default Tensor"), PythonSignature("Tensor self, Tensor|Scalar max"),
       [](PythonCall& call) -> PythonValue {
         if (call.is_tensor("max")) return clamp_max(call.tensor("self"), call.tensor("max"));
         return clamp_max(call.tensor("self"), call.number("max"));
       }},
      {everywhere("square"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return square(call.tensor("self")); }},
      {everywhere("square_"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue {
         Tensor& self = call.target();
         return call_in_place(*find_op("pow"), self, {self}, {attribute::exponent = 2});
       }},
      {"Tensor.bool", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return to(call.tensor("self"), DType::boolean); }},
      {"Tensor.float", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return to(call.tensor("self"), DType::float32); }},
      {"Tensor.double", PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return to(call.tensor("self"), DType::float64); }},
      {"Tensor.to", PythonSignature("Tensor self, dtype dtype"),
       [](PythonCall& call) -> PythonValue {
         return to(call.tensor("self"), *call.dtype("dtype"));
       }},
      {"aten._to_copy.default", PythonSignature("Tensor self, *, dtype? dtype=None"),
       [](PythonCall& call) -> PythonValue {
         Tensor self = call.tensor("self");
         return call_one(*find_op("_to_copy"), {self},
                         {attribute::dtype = call.dtype("dtype").value_or(self.dtype())});
       }},
  };
  add_unary_functions(functions);
  return functions;
}

}  // namespace simmesh
