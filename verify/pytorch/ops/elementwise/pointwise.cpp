#include "core/ops/elementwise/pointwise.h"

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/registry/registry.h"
#include "verify/pytorch/ops/function_forms.h"
#include "verify/pytorch/ops/python_functions.h"

namespace simmesh {

namespace {

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

using ScaledInPlace = Tensor& (*)(Tensor& self, const Tensor& other, Number alpha);
using ScaledNumberInPlace = Tensor& (*)(Tensor& self, Number other, Number alpha);

PythonFunction scaled_in_place(std::string names, ScaledInPlace of_tensors,
                               ScaledNumberInPlace of_number) {
  return {std::move(names), PythonSignature("Tensor self, Tensor|Scalar other, *, Scalar alpha=1"),
          [=](PythonCall& call) -> PythonValue {
            if (call.is_tensor("other"))
              return of_tensors(call.target(), call.tensor("other"), call.number("alpha"));
            return of_number(call.target(), call.number("other"), call.number("alpha"));
          }};
}

// Reads the argument rounding_mode of a division. Raises a RuntimeError for another word than floor
// and trunc.
RoundingMode rounding_mode_of(const PythonCall& call) {
  if (!call.has("rounding_mode")) return RoundingMode::none;
  std::string mode = call.text("rounding_mode");
  if (mode != "floor" && mode != "trunc")
    raise(ErrorKind::runtime_error, "div",
          "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'", mode);
  return mode == "floor" ? RoundingMode::floor : RoundingMode::trunc;
}

PythonValue pow_call(PythonCall& call) {
  if (!call.is_tensor("self")) return pow(call.number("self"), call.tensor("exponent"));
  if (call.is_tensor("exponent")) return pow(call.tensor("self"), call.tensor("exponent"));
  return pow(call.tensor("self"), call.number("exponent"));
}

PythonFunctions arithmetic_in_place() {
  return {
      scaled_in_place(everywhere("add_", "Tensor Scalar"), add_, add_),
      scaled_in_place(everywhere("sub_", "Tensor Scalar"), sub_, sub_),
      {everywhere("mul_", "Tensor Scalar"), PythonSignature("Tensor self, Tensor|Scalar other"),
       [](PythonCall& call) -> PythonValue {
         if (call.is_tensor("other")) return mul_(call.target(), call.tensor("other"));
         return mul_(call.target(), call.number("other"));
       }},
      {everywhere("div_", "Tensor Scalar"),
       PythonSignature("Tensor self, Tensor|Scalar other, *, str? rounding_mode=None"),
       [](PythonCall& call) -> PythonValue {
         RoundingMode mode = rounding_mode_of(call);
         if (call.is_tensor("other")) return div_(call.target(), call.tensor("other"), mode);
         return div_(call.target(), call.number("other"), mode);
       }},
      {everywhere("square_"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue {
         Tensor& self = call.target();
         return call_in_place(*find_op("pow"), self, {self}, {attribute::exponent = 2});
       }},
  };
}

PythonFunctions pointwise_functions() {
  PythonFunctions functions = {
      scaled(everywhere("add", "Tensor"), add, add),
      scaled(everywhere("sub", "Tensor"), sub, sub),
      scaled(everywhere("rsub", "Tensor"), rsub, rsub),
      scaled_scalar("aten.add.Scalar", add),
      scaled_scalar("aten.sub.Scalar", sub),
      scaled_scalar("aten.rsub.Scalar", rsub),
      of_tensor_or_number(everywhere("mul", "Tensor Scalar"), mul, mul),
      of_tensor_or_number(everywhere("remainder", "Tensor Scalar"), remainder, remainder),
      of_tensor_or_number(everywhere("fmod", "Tensor Scalar"), fmod, fmod),
      {everywhere("div", "Tensor Scalar Tensor_mode Scalar_mode"),
       PythonSignature("Tensor self, Tensor|Scalar other, *, str? rounding_mode=None"),
       [](PythonCall& call) -> PythonValue {
         RoundingMode mode = rounding_mode_of(call);
         if (call.is_tensor("other")) return div(call.tensor("self"), call.tensor("other"), mode);
         return div(call.tensor("self"), call.number("other"), mode);
       }},
      {everywhere("pow", "Tensor_Scalar Tensor_Tensor Scalar"),
       PythonSignature("Tensor|Scalar self, Tensor|Scalar exponent"), pow_call},
      {everywhere("square"), PythonSignature("Tensor self"),
       [](PythonCall& call) -> PythonValue { return square(call.tensor("self")); }},
  };
  add_unary_functions(functions, {"abs", "neg", "reciprocal", "sgn", "sign"});
  for (PythonFunction& function : arithmetic_in_place()) functions.push_back(std::move(function));
  return functions;
}

const PythonFamily pointwise_family(pointwise_functions);

}  // namespace

}  // namespace simmesh
