#include "core/ops/elementwise/selection.h"

#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

PythonValue where_call(PythonCall& call) {
  Tensor condition = call.tensor("condition");
  bool first = call.is_tensor("self"), second = call.is_tensor("other");
  if (first && second) return where(condition, call.tensor("self"), call.tensor("other"));
  if (first) return where(condition, call.tensor("self"), call.number("other"));
  if (second) return where(condition, call.number("self"), call.tensor("other"));
  return where(condition, call.number("self"), call.number("other"));
}

PythonValue masked_fill_call(PythonCall& call) {
  Tensor self = call.tensor("self"), mask = call.tensor("mask");
  if (call.is_tensor("value")) return masked_fill(self, mask, call.tensor("value"));
  return masked_fill(self, mask, call.number("value"));
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

PythonFunctions clamp_functions() {
  return {
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
      {everywhere("clamp_"), PythonSignature("Tensor self, Scalar? min=None, Scalar? max=None"),
       [](PythonCall& call) -> PythonValue {
         return clamp_(call.target(), call.number_if("min"), call.number_if("max"));
       }},
  };
}

PythonFunctions selection_functions() {
  PythonFunctions functions = {
      of_two_tensors(everywhere("maximum"), maximum),
      of_two_tensors(everywhere("minimum"), minimum),
      of_two_tensors(everywhere("fmax"), fmax),
      of_two_tensors(everywhere("fmin"), fmin),
      of_two_tensors(everywhere("copysign", "Tensor"), copysign),
      {everywhere("where", "self ScalarSelf ScalarOther Scalar"),
       PythonSignature("Tensor condition, Tensor|Scalar self, Tensor|Scalar other"), where_call},
      {everywhere("masked_fill", "Scalar Tensor"),
       PythonSignature("Tensor self, Tensor mask, Tensor|Scalar value"), masked_fill_call},
      {everywhere("masked_fill_", "Scalar"),
       PythonSignature("Tensor self, Tensor mask, Scalar value"),
       [](PythonCall& call) -> PythonValue {
         return masked_fill_(call.target(), call.tensor("mask"), call.number("value"));
       }},
      {"torch.nan_to_num Tensor.nan_to_num aten.nan_to_num.default",
       PythonSignature("Tensor self, float? nan=None, float? posinf=None, float? neginf=None"),
       [](PythonCall& call) -> PythonValue {
         return nan_to_num(call.tensor("self"), nan_to_num_of(call));
       }},
  };
  for (PythonFunction& function : clamp_functions()) functions.push_back(std::move(function));
  return functions;
}

const PythonFamily selection_family(selection_functions);

}  // namespace

}  // namespace simmesh
