#include "core/ops/elementwise/pointwise.h"

#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/kernels/unrounded_pointwise.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

Attributes with_alpha(Number alpha) { return Attributes::of(attribute::alpha = alpha); }

void check_alpha(std::string_view op, DType common, const Attributes& attributes) {
  auto alpha = attributes.number_in(attribute::alpha);
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

const std::vector<PointwiseSlot> sum_slots = {
    {attribute::self}, {attribute::other}, {attribute::alpha, false, 1}};
const std::vector<PointwiseSlot> two_slots = {{attribute::self}, {attribute::other}};

const Op add_op = adding_unrounded(pointwise_op(
    {.name = "add",
     .slots = sum_slots,
     .loops = loops<3>([](auto a, auto b, auto alpha) { return plus(a, times(alpha, b)); }),
     .check = [](DType common, const Attributes& attributes) {
       check_alpha("add", common, attributes);
     }}));
const Op sub_op = pointwise_op(
    {.name = "sub",
     .slots = sum_slots,
     .loops = loops<3>([](auto a, auto b, auto alpha) { return minus(a, times(alpha, b)); }),
     .check = check_subtraction});
const Op rsub_op = pointwise_op(
    {.name = "rsub",
     .slots = sum_slots,
     .loops = loops<3>([](auto a, auto b, auto alpha) { return minus(b, times(alpha, a)); }),
     .check = check_subtraction});

const Op mul_op = pointwise_op({.name = "mul",
                                .slots = two_slots,
                                .loops = loops<2>([](auto a, auto b) { return times(a, b); })});

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

// Divides like Python: from the exact remainder, so that a = b * floor(a / b) + remainder.
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

const Op div_op = dividing_unrounded(
    pointwise_op({.name = "div",
                  .slots = two_slots,
                  .result = PointwiseResult::floating,
                  .loops = floating_loops<2>([](auto a, auto b) { return a / b; })}));

// Division with a rounding mode, which keeps integers integers.
const Op div_mode_op = pointwise_op(
    {.name = "div.Tensor_mode",
     .slots = two_slots,
     .loops = [](ComputeType type, const Attributes& attributes) {
       if (attributes.get(attribute::rounding_mode) == "trunc")
         return loops_for<2>(type, [](auto a, auto b) { return truncated_quotient(a, b); });
       return loops_for<2>(type, [](auto a, auto b) { return floored_quotient(a, b); });
     }});

const Op remainder_op =
    pointwise_op({.name = "remainder", .slots = two_slots, .loops = loops<2>([](auto a, auto b) {
                                                             return modulo_of_divisor(a, b);
                                                           })});
const Op fmod_op =
    pointwise_op({.name = "fmod", .slots = two_slots, .loops = loops<2>([](auto a, auto b) {
                                                        return modulo_of_dividend(a, b);
                                                      })});

// Small powers are products, and exact where those are.
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

void check_exponent(DType common, const Attributes& attributes) {
  auto exponent = attributes.number_in(attribute::exponent);
  if (exponent && !is_floating_point(common) && exponent->as<double>() < 0)
    raise(ErrorKind::runtime_error, "pow", "Integers to negative integer powers are not allowed.");
}

Op pow_op_of(std::string name) {
  return pointwise_op(
      {.name = std::move(name),
       .slots = {{attribute::self}, {attribute::exponent}},
       .loops = loops<2>([](auto base, auto exponent) { return raised(base, exponent); }),
       .check = check_exponent});
}
const Op pow_op = pow_op_of("pow");
const Op pow_tensor_op = pow_op_of("pow.Tensor_Tensor");

const Op neg_op = pointwise_op(
    {.name = "neg",
     .loops = loops<1>([](auto x) {
       if constexpr (std::is_integral_v<decltype(x)>)
         return minus(decltype(x)(0), x);
       else
         return -x;
     }),
     .check = [](DType common, const Attributes&) {
       if (common == DType::boolean)
         raise(ErrorKind::runtime_error, "neg",
               "Negation, the `-` operator, on a bool tensor is not supported. If you are "
               "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
     }});
const Op abs_op = pointwise_op({.name = "abs", .loops = loops<1>([](auto x) {
                                                 if constexpr (std::is_integral_v<decltype(x)>)
                                                   return x < 0 ? minus(decltype(x)(0), x) : x;
                                                 else
                                                   return std::fabs(x);
                                               })});

Op sign_op_of(std::string name) {
  return pointwise_op({.name = std::move(name), .loops = loops<1>([](auto x) {
                                                  using C = decltype(x);
                                                  if (x != x) return x;
                                                  return static_cast<C>(int(C(0) < x) -
                                                                        int(x < C(0)));
                                                })});
}
const Op sign_op = sign_op_of("sign");
const Op sgn_op = sign_op_of("sgn");

const Op reciprocal_op =
    pointwise_op({.name = "reciprocal",
                  .result = PointwiseResult::floating,
                  .loops = floating_loops<1>([](auto x) { return decltype(x)(1) / x; })});

bool is_one(const Number& number) {
  return !number.is_floating() && !number.is_bool() && number.as<std::int64_t>() == 1;
}

// The arguments of most sums, made once.
const Attributes with_alpha_one = with_alpha(1);

Attributes with_other(Number other, Number alpha) {
  return {attribute::other = other, attribute::alpha = alpha};
}

// A true quotient is one op, a rounded one another.
const Op& div_op_of(RoundingMode rounding) {
  return rounding == RoundingMode::none ? div_op : div_mode_op;
}
Attributes with_rounding(Attributes attributes, RoundingMode rounding) {
  if (rounding != RoundingMode::none)
    attributes.set(attribute::rounding_mode =
                       std::string(rounding == RoundingMode::trunc ? "trunc" : "floor"));
  return attributes;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, Number alpha) {
  if (is_one(alpha)) return call_one(add_op, {a, b}, with_alpha_one);
  return call_one(add_op, {a, b}, with_alpha(alpha));
}
Tensor add(const Tensor& a, Number b, Number alpha) {
  return call_one(add_op, {a}, with_other(b, alpha));
}
Tensor sub(const Tensor& a, const Tensor& b, Number alpha) {
  if (is_one(alpha)) return call_one(sub_op, {a, b}, with_alpha_one);
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
  return call_one(div_op_of(rounding), {a, b}, with_rounding({}, rounding));
}
Tensor div(const Tensor& a, Number b, RoundingMode rounding) {
  return call_one(div_op_of(rounding), {a}, with_rounding(with_other(b), rounding));
}
Tensor remainder(const Tensor& a, const Tensor& b) { return call_one(remainder_op, {a, b}); }
Tensor remainder(const Tensor& a, Number b) { return call_one(remainder_op, {a}, with_other(b)); }
Tensor fmod(const Tensor& a, const Tensor& b) { return call_one(fmod_op, {a, b}); }
Tensor fmod(const Tensor& a, Number b) { return call_one(fmod_op, {a}, with_other(b)); }
Tensor pow(const Tensor& base, const Tensor& exponent) {
  return call_one(pow_tensor_op, {base, exponent});
}
Tensor pow(const Tensor& base, Number exponent) {
  return call_one(pow_op, {base}, {attribute::exponent = exponent});
}
Tensor pow(Number base, const Tensor& exponent) {
  return call_one(pow_tensor_op, {Tensor(), exponent}, {attribute::self = base});
}
Tensor neg(const Tensor& x) { return call_one(neg_op, {x}); }
Tensor abs(const Tensor& x) { return call_one(abs_op, {x}); }
Tensor sign(const Tensor& x) { return call_one(sign_op, {x}); }
Tensor sgn(const Tensor& x) { return call_one(sgn_op, {x}); }
Tensor square(const Tensor& x) { return pow(x, 2); }
Tensor reciprocal(const Tensor& x) { return call_one(reciprocal_op, {x}); }

Tensor& add_(Tensor& self, const Tensor& other, Number alpha) {
  return call_in_place(add_op, self, {self, other}, with_alpha(alpha));
}
Tensor& add_(Tensor& self, Number other, Number alpha) {
  return call_in_place(add_op, self, {self}, with_other(other, alpha));
}
Tensor& sub_(Tensor& self, const Tensor& other, Number alpha) {
  return call_in_place(sub_op, self, {self, other}, with_alpha(alpha));
}
Tensor& sub_(Tensor& self, Number other, Number alpha) {
  return call_in_place(sub_op, self, {self}, with_other(other, alpha));
}
Tensor& mul_(Tensor& self, const Tensor& other) {
  return call_in_place(mul_op, self, {self, other});
}
Tensor& mul_(Tensor& self, Number other) {
  return call_in_place(mul_op, self, {self}, with_other(other));
}
Tensor& div_(Tensor& self, const Tensor& other, RoundingMode rounding) {
  return call_in_place(div_op_of(rounding), self, {self, other}, with_rounding({}, rounding));
}
Tensor& div_(Tensor& self, Number other, RoundingMode rounding) {
  return call_in_place(div_op_of(rounding), self, {self},
                       with_rounding(with_other(other), rounding));
}
Tensor& neg_(Tensor& self) { return call_in_place(neg_op, self, {self}); }

Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, Number alpha) {
  return call_into(add_op, out, {a, b}, with_alpha(alpha));
}
Tensor& mul_out(Tensor& out, const Tensor& a, const Tensor& b) {
  return call_into(mul_op, out, {a, b});
}

void pointwise_ops(OpList& ops) {
  ops.add({&add_op, &sub_op, &rsub_op, &mul_op, &div_op, &div_mode_op, &remainder_op, &fmod_op,
           &pow_op, &pow_tensor_op, &neg_op, &abs_op, &sign_op, &sgn_op, &reciprocal_op});
}

}  // namespace simmesh
