#include "core/ops/elementwise/pointwise.h"

#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise_op.h"
#include "core/ops/reductions/unrounded_terms.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

Attributes with_alpha(Number alpha) { return {{"alpha", alpha.attribute()}}; }

// x * n, where n usually is 1.
Tensor scaled(const Tensor& x, Number n) { return n.as<double>() == 1 ? x : mul(x, n); }

// g * input i, be it a tensor or a number.
Tensor times_input(const GradientCall& call, const Tensor& g, std::size_t i,
                   std::string_view name) {
  return has_input(call, i) ? mul(g, call.input(i)) : scaled(g, number_or(call, name, 1));
}

void check_alpha(std::string_view op, DType common, const Attributes& attributes) {
  auto alpha = number_in(attributes, "alpha");
  if (alpha && alpha->is_floating() && !is_floating_point(common))
    raise(ErrorKind::runtime_error, op,
          "For integral input tensors, argument alpha must not be a floating point number.");
}

void check_subtraction(DType common, const Attributes& attributes) {
  if (common == DType::boolean)
    raise(ErrorKind::runtime_error, "sub",
          "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
          "to invert a mask, use the `~` or `logical_not()` operator instead.");
  check_alpha("sub", common, attributes);
}

// The gradients of first_sign * self + second_sign * other, where the second may have a factor.
struct Signs {
  bool negates_self;
  bool negates_other;
  bool scales_self;
};
GradientRule sum_gradient(Signs signs) {
  return [signs](const GradientCall& call) {
    Gradients result(call.input_count());
    Number alpha = number_or(call, "alpha", 1);
    auto signed_part = [&](std::size_t i, bool negates, bool scales) {
      if (!call.needs(i)) return;
      Tensor g = scales ? scaled(call.gradient(), alpha) : call.gradient();
      result[i] = summed_to_input(call, i, negates ? neg(g) : g);
    };
    signed_part(0, signs.negates_self, signs.scales_self);
    signed_part(1, signs.negates_other, !signs.scales_self);
    return result;
  };
}

const std::vector<PointwiseSlot> sum_slots = {{"self"}, {"other"}, {"alpha", false, 1}};
const std::vector<PointwiseSlot> two_slots = {{"self"}, {"other"}};

const Op add_op = adding_unrounded(pointwise_op(
    {.name = "add",
     .slots = sum_slots,
     .loops = loops<3>([](auto a, auto b, auto alpha) { return plus(a, times(alpha, b)); }),
     .gradient = sum_gradient({false, false, false}),
     .check = [](DType common, const Attributes& attributes) {
       check_alpha("add", common, attributes);
     }}));
const Op sub_op = pointwise_op(
    {.name = "sub",
     .slots = sum_slots,
     .loops = loops<3>([](auto a, auto b, auto alpha) { return minus(a, times(alpha, b)); }),
     .gradient = sum_gradient({false, true, false}),
     .check = check_subtraction});
const Op rsub_op = pointwise_op(
    {.name = "rsub",
     .slots = sum_slots,
     .loops = loops<3>([](auto a, auto b, auto alpha) { return minus(b, times(alpha, a)); }),
     .gradient = sum_gradient({true, false, true}),
     .check = check_subtraction});

const Op mul_op =
    pointwise_op({.name = "mul",
                  .slots = two_slots,
                  .loops = loops<2>([](auto a, auto b) { return times(a, b); }),
                  .gradient =
                      [](const GradientCall& call) {
                        Gradients result(call.input_count());
                        for (std::size_t i = 0; i < result.size(); ++i)
                          if (call.needs(i))
                            result[i] = summed_to_input(
                                call, i, times_input(call, call.gradient(), 1 - i, "other"));
                        return result;
                      },
                  .saves = {.inputs = 0b11, .crosswise = true}});

template <class C>
void check_divisor(C b) {
  if constexpr (std::is_integral_v<C>)
    if (b == 0) raise(ErrorKind::runtime_error, "div", "ZeroDivisionError");
}

// The least integer divided by -1 wraps to itself; the CPU would trap.
template <class C>
C truncated_quotient(C a, C b) {
  check_divisor(b);
  if constexpr (std::is_integral_v<C>)
    return b == -1 ? minus(C(0), a) : C(a / b);
  else
    return std::trunc(a / b);
}

template <class C>
C modulo_of_dividend(C a, C b) {
  check_divisor(b);
  if constexpr (std::is_integral_v<C>)
    return b == -1 ? C(0) : C(a % b);
  else
    return std::fmod(a, b);
}

template <class C>
C modulo_of_divisor(C a, C b) {
  C rest = modulo_of_dividend(a, b);
  return rest != C(0) && (rest < C(0)) != (b < C(0)) ? C(rest + b) : rest;
}

// Like Python's: from the exact remainder, so that a = b * floor(a / b) + remainder.
template <class C>
C floored_quotient(C a, C b) {
  check_divisor(b);
  if constexpr (std::is_integral_v<C>) {
    C quotient = truncated_quotient(a, b);
    return b != -1 && a % b != 0 && (a < 0) != (b < 0) ? C(quotient - 1) : quotient;
  } else {
    if (b == C(0)) return a / b;
    C rest = std::fmod(a, b);
    C quotient = (a - rest) / b;
    if (rest != C(0) && (b < C(0)) != (rest < C(0))) quotient -= C(1);
    if (quotient == C(0)) return std::copysign(C(0), a / b);
    C floored = std::floor(quotient);
    return quotient - floored > C(0.5) ? floored + C(1) : floored;
  }
}

Gradients div_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  if (call.attributes().has("rounding_mode")) {
    for (std::size_t i = 0; i < result.size(); ++i)
      if (call.needs(i)) result[i] = new_zeros(call.gradient(), call.input_type(i).shape);
    return result;
  }
  Tensor g = call.gradient();
  if (call.needs(0))
    result[0] = summed_to_input(
        call, 0, has_input(call, 1) ? div(g, call.input(1)) : div(g, number_or(call, "other", 1)));
  if (call.needs(1)) {
    const Tensor& other = call.input(1);
    result[1] = summed_to_input(call, 1, neg(g) * div(div(call.input(0), other), other));
  }
  return result;
}

const Op div_op = dividing_unrounded(
    pointwise_op({.name = "div",
                  .slots = two_slots,
                  .result = PointwiseResult::floating,
                  .loops = floating_loops<2>([](auto a, auto b) { return a / b; }),
                  .gradient = div_gradient,
                  .saves = {.inputs = 0b11, .for_others = 0b01}}));

// The quotient that a rounding mode keeps among the integers.
const Op div_mode_op = pointwise_op(
    {.name = "div.Tensor_mode",
     .slots = two_slots,
     .loops =
         [](ComputeType type, const Attributes& attributes) {
           if (attributes.get<std::string>("rounding_mode") == "trunc")
             return loops_for<2>(type, [](auto a, auto b) { return truncated_quotient(a, b); });
           return loops_for<2>(type, [](auto a, auto b) { return floored_quotient(a, b); });
         },
     .gradient = div_gradient});

// a - b * quotient, whose quotient is flat.
GradientRule modulo_gradient(RoundingMode rounding) {
  return [rounding](const GradientCall& call) {
    Gradients result(call.input_count());
    Tensor g = call.gradient();
    if (call.needs(0)) result[0] = summed_to_input(call, 0, g);
    if (call.needs(1))
      result[1] = summed_to_input(call, 1, neg(g) * div(call.input(0), call.input(1), rounding));
    return result;
  };
}

const Op remainder_op =
    pointwise_op({.name = "remainder",
                  .slots = two_slots,
                  .loops = loops<2>([](auto a, auto b) { return modulo_of_divisor(a, b); }),
                  .gradient = modulo_gradient(RoundingMode::floor),
                  .saves = {.inputs = 0b11, .for_others = 0b01}});
const Op fmod_op =
    pointwise_op({.name = "fmod",
                  .slots = two_slots,
                  .loops = loops<2>([](auto a, auto b) { return modulo_of_dividend(a, b); }),
                  .gradient = modulo_gradient(RoundingMode::trunc),
                  .saves = {.inputs = 0b11, .for_others = 0b01}});

// Small powers are exact where their products are.
template <class C>
C raised(C base, C exponent) {
  if constexpr (std::is_integral_v<C>) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : C(0);
    C result = 1;
    for (std::uint64_t left = std::uint64_t(exponent); left > 0; left >>= 1) {
      if (left & 1) result = times(result, base);
      base = times(base, base);
    }
    return result;
  } else {
    if (exponent == C(1)) return base;
    if (exponent == C(2)) return base * base;
    if (exponent == C(3)) return base * base * base;
    if (exponent == C(0.5)) return std::sqrt(base);
    if (exponent == C(-0.5)) return C(1) / std::sqrt(base);
    if (exponent == C(-1)) return C(1) / base;
    if (exponent == C(-2)) return C(1) / (base * base);
    return static_cast<C>(power(double(base), double(exponent)));
  }
}

Gradients pow_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  if (call.needs(0)) {
    const Tensor& x = call.input(0);
    if (has_input(call, 1)) {
      const Tensor& e = call.input(1);
      Tensor slope = g * (e * pow(x, e - 1));
      result[0] = summed_to_input(call, 0, where(eq(e, 0), 0, slope));
    } else {
      Number n = number_or(call, "exponent", 1);
      auto e = n.as<double>();
      result[0] = summed_to_input(call, 0, e == 0 ? zeros_like(g) : g * (pow(x, e - 1) * e));
    }
  }
  if (call.needs(1)) {
    const Tensor& e = call.input(1);
    const Tensor& y = call.output();
    bool is_tensor = has_input(call, 0);
    Tensor x =
        is_tensor ? call.input(0) : full({}, e.dtype(), number_or(call, "self", 1).as<double>());
    // 0^e is flat in e from e = 0 on.
    Tensor flat = logical_and(eq(x, 0), ge(e, 0));
    result[1] = summed_to_input(call, 1, where(flat, 0, g * (y * log(x))));
  }
  return result;
}

void check_exponent(DType common, const Attributes& attributes) {
  auto exponent = number_in(attributes, "exponent");
  if (exponent && !is_floating_point(common) && exponent->as<double>() < 0)
    raise(ErrorKind::runtime_error, "pow", "Integers to negative integer powers are not allowed.");
}

// Only a power whose exponent is a tensor needs its result again.
Op pow_op_of(std::string name, Saves saves) {
  return pointwise_op(
      {.name = std::move(name),
       .slots = {{"self"}, {"exponent"}},
       .loops = loops<2>([](auto base, auto exponent) { return raised(base, exponent); }),
       .gradient = pow_gradient,
       .saves = saves,
       .check = check_exponent});
}
const Op pow_op = pow_op_of("pow", {.inputs = 1});
const Op pow_tensor_op = pow_op_of("pow.Tensor_Tensor", {.inputs = 0b11, .outputs = 1});

const Op neg_op = pointwise_op(
    {.name = "neg",
     .loops = loops<1>([](auto x) {
       if constexpr (std::is_integral_v<decltype(x)>)
         return minus(decltype(x)(0), x);
       else
         return -x;
     }),
     .gradient = [](const GradientCall& call) -> Gradients { return {neg(call.gradient())}; },
     .check =
         [](DType common, const Attributes&) {
           if (common == DType::boolean)
             raise(ErrorKind::runtime_error, "neg",
                   "Negation, the `-` operator, on a bool tensor is not supported. If you are "
                   "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
         }});
const Op abs_op = pointwise_op({.name = "abs",
                                .loops = loops<1>([](auto x) {
                                  if constexpr (std::is_integral_v<decltype(x)>)
                                    return x < 0 ? minus(decltype(x)(0), x) : x;
                                  else
                                    return std::fabs(x);
                                }),
                                .gradient = [](const GradientCall& call) -> Gradients {
                                  return {call.gradient() * sgn(call.input(0))};
                                },
                                .saves = {.inputs = 1}});

Op sign_op_of(std::string name) {
  return pointwise_op({.name = std::move(name),
                       .loops = loops<1>([](auto x) {
                         using C = decltype(x);
                         if (x != x) return x;
                         return static_cast<C>(int(C(0) < x) - int(x < C(0)));
                       }),
                       .gradient = [](const GradientCall& call) -> Gradients {
                         return {zeros_like(call.gradient())};
                       }});
}
const Op sign_op = sign_op_of("sign");
const Op sgn_op = sign_op_of("sgn");

const Op reciprocal_op =
    pointwise_op({.name = "reciprocal",
                  .result = PointwiseResult::floating,
                  .loops = floating_loops<1>([](auto x) { return decltype(x)(1) / x; }),
                  .gradient = [](const GradientCall& call) -> Gradients {
                    const Tensor& y = call.output();
                    return {neg(call.gradient()) * (y * y)};
                  },
                  .saves = {.outputs = 1}});

const Op* const pointwise_list[] = {&add_op,      &sub_op,       &rsub_op, &mul_op, &div_op,
                                    &div_mode_op, &remainder_op, &fmod_op, &pow_op, &pow_tensor_op,
                                    &neg_op,      &abs_op,       &sign_op, &sgn_op, &reciprocal_op};

Attributes with_other(Number other, Number alpha) {
  return {{"other", other.attribute()}, {"alpha", alpha.attribute()}};
}

// Runs div or div.Tensor_mode.
Tensor divided(std::initializer_list<Tensor> inputs, Attributes attributes, RoundingMode rounding) {
  if (rounding == RoundingMode::none) return call_one(div_op, inputs, attributes);
  attributes.set("rounding_mode", std::string(rounding == RoundingMode::trunc ? "trunc" : "floor"));
  return call_one(div_mode_op, inputs, attributes);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, Number alpha) {
  return call_one(add_op, {a, b}, with_alpha(alpha));
}
Tensor add(const Tensor& a, Number b, Number alpha) {
  return call_one(add_op, {a}, with_other(b, alpha));
}
Tensor sub(const Tensor& a, const Tensor& b, Number alpha) {
  return call_one(sub_op, {a, b}, with_alpha(alpha));
}
Tensor sub(const Tensor& a, Number b, Number alpha) {
  return call_one(sub_op, {a}, with_other(b, alpha));
}
Tensor rsub(const Tensor& a, const Tensor& b, Number alpha) {
  return call_one(rsub_op, {a, b}, with_alpha(alpha));
}
Tensor rsub(const Tensor& a, Number b, Number alpha) {
  return call_one(rsub_op, {a}, with_other(b, alpha));
}
Tensor mul(const Tensor& a, const Tensor& b) { return call_one(mul_op, {a, b}); }
Tensor mul(const Tensor& a, Number b) { return call_one(mul_op, {a}, with_other(b)); }
Tensor div(const Tensor& a, const Tensor& b, RoundingMode rounding) {
  return divided({a, b}, {}, rounding);
}
Tensor div(const Tensor& a, Number b, RoundingMode rounding) {
  return divided({a}, with_other(b), rounding);
}
Tensor remainder(const Tensor& a, const Tensor& b) { return call_one(remainder_op, {a, b}); }
Tensor remainder(const Tensor& a, Number b) { return call_one(remainder_op, {a}, with_other(b)); }
Tensor fmod(const Tensor& a, const Tensor& b) { return call_one(fmod_op, {a, b}); }
Tensor fmod(const Tensor& a, Number b) { return call_one(fmod_op, {a}, with_other(b)); }
Tensor pow(const Tensor& base, const Tensor& exponent) {
  return call_one(pow_tensor_op, {base, exponent});
}
Tensor pow(const Tensor& base, Number exponent) {
  return call_one(pow_op, {base}, {{"exponent", exponent.attribute()}});
}
Tensor pow(Number base, const Tensor& exponent) {
  return call_one(pow_tensor_op, {Tensor(), exponent}, {{"self", base.attribute()}});
}
Tensor neg(const Tensor& x) { return call_one(neg_op, {x}); }
Tensor abs(const Tensor& x) { return call_one(abs_op, {x}); }
Tensor sign(const Tensor& x) { return call_one(sign_op, {x}); }
Tensor sgn(const Tensor& x) { return call_one(sgn_op, {x}); }
Tensor square(const Tensor& x) { return pow(x, 2); }
Tensor reciprocal(const Tensor& x) { return call_one(reciprocal_op, {x}); }

gsl::span<const Op* const> pointwise_ops() { return pointwise_list; }

}  // namespace simmesh
