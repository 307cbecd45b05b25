#include "core/ops/elementwise/logic.h"

#include <cmath>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

template <class F>
Op logical_op(const std::string& name, F f) {
  return pointwise_op({.name = name,
                       .slots = {{attribute::self}, {attribute::other}},
                       .result = PointwiseResult::boolean,
                       .loops = loops<2>([f](auto a, auto b) {
                         using C = decltype(a);
                         return f(a != C(0), b != C(0));
                       })});
}

const Op and_op = logical_op("logical_and", [](bool a, bool b) { return a & b; });
const Op or_op = logical_op("logical_or", [](bool a, bool b) { return a | b; });
const Op xor_op = logical_op("logical_xor", [](bool a, bool b) { return a != b; });
const Op not_op = pointwise_op({.name = "logical_not",
                                .result = PointwiseResult::boolean,
                                .loops = loops<1>([](auto x) { return x == decltype(x)(0); })});

using LogicWord = std::int64_t;
const Op bitwise_and_op = integer_op("bitwise_and", [](LogicWord a, LogicWord b) { return a & b; });
const Op bitwise_or_op = integer_op("bitwise_or", [](LogicWord a, LogicWord b) { return a | b; });
const Op bitwise_xor_op = integer_op("bitwise_xor", [](LogicWord a, LogicWord b) { return a ^ b; });

// For bool, bitwise_not is logical not.
const Op bitwise_not_op = {
    .name = "bitwise_not",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      if (is_floating_point(inputs[0].dtype))
        raise(ErrorKind::not_implemented_error, "bitwise_not",
              "\"bitwise_not_cpu\" not implemented for '{}'", to_string(inputs[0].dtype));
      return {inputs[0]};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes&, gsl::span<Tensor> outputs) {
          PointwiseOperand operand{inputs[0]};
          bool is_bool = inputs[0].dtype() == DType::boolean;
          ChunkLoop loop = is_bool ? loop_of<1, LogicWord>([](LogicWord x) { return x == 0; })
                                   : loop_of<1, LogicWord>([](LogicWord x) { return ~x; });
          compute_pointwise({.operands = {&operand, 1}, .type = ComputeType::int64, .loop = loop},
                            outputs[0]);
        },
};

template <class F>
Op class_op(const std::string& name, F f) {
  return pointwise_op({.name = name,
                       .result = PointwiseResult::boolean,
                       .loops = loops<1>([f](auto x) {
                         if constexpr (std::is_integral_v<decltype(x)>)
                           return f(0.0);
                         else
                           return f(x);
                       })});
}
const Op isnan_op = class_op("isnan", [](auto x) { return x != x; });
const Op isinf_op = class_op("isinf", [](auto x) { return std::isinf(x); });
const Op isfinite_op = class_op("isfinite", [](auto x) { return x - x == decltype(x)(0); });

}  // namespace

Tensor logical_and(const Tensor& a, const Tensor& b) { return call_one(and_op, {a, b}); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return call_one(or_op, {a, b}); }
Tensor logical_xor(const Tensor& a, const Tensor& b) { return call_one(xor_op, {a, b}); }
Tensor logical_not(const Tensor& x) { return call_one(not_op, {x}); }
Tensor bitwise_and(const Tensor& a, const Tensor& b) { return call_one(bitwise_and_op, {a, b}); }
Tensor bitwise_and(const Tensor& a, Number b) {
  return call_one(bitwise_and_op, {a}, with_other(b));
}
Tensor bitwise_or(const Tensor& a, const Tensor& b) { return call_one(bitwise_or_op, {a, b}); }
Tensor bitwise_or(const Tensor& a, Number b) { return call_one(bitwise_or_op, {a}, with_other(b)); }
Tensor bitwise_xor(const Tensor& a, const Tensor& b) { return call_one(bitwise_xor_op, {a, b}); }
Tensor bitwise_xor(const Tensor& a, Number b) {
  return call_one(bitwise_xor_op, {a}, with_other(b));
}
Tensor bitwise_not(const Tensor& x) { return call_one(bitwise_not_op, {x}); }
Tensor isnan(const Tensor& x) { return call_one(isnan_op, {x}); }
Tensor isinf(const Tensor& x) { return call_one(isinf_op, {x}); }
Tensor isfinite(const Tensor& x) { return call_one(isfinite_op, {x}); }

void logic_ops(OpList& ops) {
  ops.add({&and_op, &or_op, &xor_op, &not_op, &bitwise_and_op, &bitwise_or_op, &bitwise_xor_op,
           &bitwise_not_op, &isnan_op, &isinf_op, &isfinite_op});
}

}  // namespace simmesh
