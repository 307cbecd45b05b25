#include "core/check/error.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "verify/pytorch/ops/python_functions.h"
#include "verify/pytorch/ops/rounding_mode.h"

namespace simmesh {

namespace {

using OfTensors = Tensor (*)(const Tensor& a, const Tensor& b);
using OfNumber = Tensor (*)(const Tensor& a, Number b);

// A function of a tensor and another one, or a number.
PythonFunction of_either(std::string names, OfTensors of_tensors, OfNumber of_number) {
  return {std::move(names), PythonSignature("Tensor self, Tensor|Scalar other"),
          [=](PythonCall& call) -> PythonValue {
            if (call.is_tensor("other"))
              return of_tensors(call.tensor("self"), call.tensor("other"));
            return of_number(call.tensor("self"), call.number("other"));
          }};
}

PythonFunction of_two(std::string names, OfTensors function) {
  return {std::move(names), PythonSignature("Tensor self, Tensor other"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.tensor("other"));
          }};
}

using Scaled = Tensor (*)(const Tensor& a, const Tensor& b, Number alpha);
using ScaledNumber = Tensor (*)(const Tensor& a, Number b, Number alpha);

PythonFunction scaled(std::string names, Scaled of_tensors, ScaledNumber of_number) {
  return {std::move(names), PythonSignature("Tensor self, Tensor|Scalar other, *, Scalar alpha=1"),
          [=](PythonCall& call) -> PythonValue {
            Tensor self = call.tensor("self");
            if (call.is_tensor("other"))
              return of_tensors(self, call.tensor("other"), call.number("alpha"));
            return of_number(self, call.number("other"), call.number("alpha"));
          }};
}

// The operators' Scalar overloads take alpha by place.
PythonFunction scaled_scalar(std::string names, ScaledNumber function) {
  return {std::move(names), PythonSignature("Tensor self, Scalar other, Scalar alpha=1"),
          [=](PythonCall& call) -> PythonValue {
            return function(call.tensor("self"), call.number("other"), call.number("alpha"));
          }};
}

PythonValue where_call(PythonCall& call) {
  Tensor condition = call.tensor("condition");
  bool first = call.is_tensor("self"), second = call.is_tensor("other");
  if (first && second) return where(condition, call.tensor("self"), call.tensor("other"));
  if (first) return where(condition, call.tensor("self"), call.number("other"));
  if (second) return where(condition, call.number("self"), call.tensor("other"));
  return where(condition, call.number("self"), call.number("other"));
}

PythonValue pow_call(PythonCall& call) {
  if (!call.is_tensor("self")) return pow(call.number("self"), call.tensor("exponent"));
  if (call.is_tensor("exponent")) return pow(call.tensor("self"), call.tensor("exponent"));
  return pow(call.tensor("self"), call.number("exponent"));
}

PythonValue masked_fill_call(PythonCall& call) {
  Tensor self = call.tensor("self"), mask = call.tensor("mask");
  if (call.is_tensor("value")) return masked_fill(self, mask, call.tensor("value"));
  return masked_fill(self, mask, call.number("value"));
}

PythonFunctions choosing_functions() {
  return {
      {everywhere("where", "self ScalarSelf ScalarOther Scalar"),
       PythonSignature("Tensor condition, Tensor|Scalar self, Tensor|Scalar other"), where_call},
      {everywhere("masked_fill", "Scalar Tensor"),
       PythonSignature("Tensor self, Tensor mask, Tensor|Scalar value"), masked_fill_call},
      {everywhere("pow", "Tensor_Scalar Tensor_Tensor Scalar"),
       PythonSignature("Tensor|Scalar self, Tensor|Scalar exponent"), pow_call},
      {everywhere("lerp", "Scalar Tensor"),
       PythonSignature("Tensor self, Tensor end, Tensor|Scalar weight"),
       [](PythonCall& call) -> PythonValue {
         Tensor start = call.tensor("self"), end = call.tensor("end");
         if (call.is_tensor("weight")) return lerp(start, end, call.tensor("weight"));
         return lerp(start, end, call.number("weight"));
       }},
      {everywhere("addcmul"),
       PythonSignature("Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1"),
       [](PythonCall& call) -> PythonValue {
         return addcmul(call.tensor("self"), call.tensor("tensor1"), call.tensor("tensor2"),
                        call.number("value"));
       }},
      {everywhere("addcdiv"),
       PythonSignature("Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1"),
       [](PythonCall& call) -> PythonValue {
         return addcdiv(call.tensor("self"), call.tensor("tensor1"), call.tensor("tensor2"),
                        call.number("value"));
       }},
  };
}

}  // namespace

RoundingMode rounding_mode_of(const PythonCall& call) {
  if (!call.has("rounding_mode")) return RoundingMode::none;
  std::string mode = call.text("rounding_mode");
  if (mode != "floor" && mode != "trunc")
    raise(ErrorKind::runtime_error, "div",
          "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'", mode);
  return mode == "floor" ? RoundingMode::floor : RoundingMode::trunc;
}

PythonFunctions binary_functions() {
  PythonFunctions functions = {
      scaled(everywhere("add", "Tensor"), add, add),
      scaled(everywhere("sub", "Tensor"), sub, sub),
      scaled(everywhere("rsub", "Tensor"), rsub, rsub),
      scaled_scalar("aten.add.Scalar", add),
      scaled_scalar("aten.sub.Scalar", sub),
      scaled_scalar("aten.rsub.Scalar", rsub),
      of_either(everywhere("mul", "Tensor Scalar"), mul, mul),
      of_either(everywhere("remainder", "Tensor Scalar"), remainder, remainder),
      of_either(everywhere("fmod", "Tensor Scalar"), fmod, fmod),
      of_either(everywhere("eq", "Tensor Scalar"), eq, eq),
      of_either(everywhere("ne", "Tensor Scalar"), ne, ne),
      of_either(everywhere("lt", "Tensor Scalar"), lt, lt),
      of_either(everywhere("le", "Tensor Scalar"), le, le),
      of_either(everywhere("gt", "Tensor Scalar"), gt, gt),
      of_either(everywhere("ge", "Tensor Scalar"), ge, ge),
      of_either(everywhere("bitwise_and", "Tensor Scalar"), bitwise_and, bitwise_and),
      of_either(everywhere("bitwise_or", "Tensor Scalar"), bitwise_or, bitwise_or),
      of_either(everywhere("bitwise_xor", "Tensor Scalar"), bitwise_xor, bitwise_xor),
      of_two(everywhere("logical_and"), logical_and),
      of_two(everywhere("logical_or"), logical_or),
      of_two(everywhere("logical_xor"), logical_xor),
      of_two(everywhere("maximum"), maximum),
      of_two(everywhere("minimum"), minimum),
      of_two(everywhere("fmax"), fmax),
      of_two(everywhere("fmin"), fmin),
      of_two(everywhere("atan2"), atan2),
      of_two(everywhere("hypot"), hypot),
      of_two(everywhere("logaddexp"), logaddexp),
      of_two(everywhere("xlogy", "Tensor"), xlogy),
      of_two(everywhere("copysign", "Tensor"), copysign),
      {everywhere("div", "Tensor Scalar Tensor_mode Scalar_mode"),
       PythonSignature("Tensor self, Tensor|Scalar other, *, str? rounding_mode=None"),
       [](PythonCall& call) -> PythonValue {
         RoundingMode mode = rounding_mode_of(call);
         if (call.is_tensor("other")) return div(call.tensor("self"), call.tensor("other"), mode);
         return div(call.tensor("self"), call.number("other"), mode);
       }},
  };
  for (PythonFunction& function : choosing_functions()) functions.push_back(std::move(function));
  return functions;
}

}  // namespace simmesh
