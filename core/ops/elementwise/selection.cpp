#include <cmath>
#include <limits>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/pointwise_op.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

const std::vector<PointwiseSlot> compared_slots = {{"self"}, {"other"}};

// The winner gets the gradient; equals share it.
GradientRule winner_gradient(Tensor (*wins)(const Tensor&, const Tensor&)) {
  return [wins](const GradientCall& call) {
    Gradients result(2);
    const Tensor &a = call.input(0), &b = call.input(1);
    Tensor g = call.gradient();
    Tensor shared = where(eq(a, b), g * 0.5, g);
    if (call.needs(0)) result[0] = summed_to_input(call, 0, masked_fill(shared, wins(b, a), 0));
    if (call.needs(1)) result[1] = summed_to_input(call, 1, masked_fill(shared, wins(a, b), 0));
    return result;
  };
}

template <class F>
Op choice_op(const std::string& name, F f, const GradientRule& gradient) {
  return pointwise_op({.name = name,
                       .slots = compared_slots,
                       .loops = loops<2>(f),
                       .gradient = gradient,
                       .saves = {.inputs = 0b11}});
}

// fmax gives the first operand's gradient to the first where it is chosen.
GradientRule chosen_gradient(Tensor (*first_wins)(const Tensor&, const Tensor&)) {
  return [first_wins](const GradientCall& call) {
    Gradients result(2);
    const Tensor &a = call.input(0), &b = call.input(1);
    Tensor chosen = logical_or(first_wins(a, b), isnan(b));
    Tensor g = call.gradient();
    if (call.needs(0)) result[0] = summed_to_input(call, 0, masked_fill(g, logical_not(chosen), 0));
    if (call.needs(1)) result[1] = summed_to_input(call, 1, masked_fill(g, chosen, 0));
    return result;
  };
}

using Compare = Tensor (*)(const Tensor&, const Tensor&);
const Op maximum_op = choice_op(
    "maximum", [](auto a, auto b) { return a != a || a > b ? a : b; },
    winner_gradient(static_cast<Compare>(gt)));
const Op minimum_op = choice_op(
    "minimum", [](auto a, auto b) { return a != a || a < b ? a : b; },
    winner_gradient(static_cast<Compare>(lt)));
const Op fmax_op = choice_op(
    "fmax", [](auto a, auto b) { return b != b || a >= b ? a : b; },
    chosen_gradient(static_cast<Compare>(ge)));
const Op fmin_op = choice_op(
    "fmin", [](auto a, auto b) { return b != b || a <= b ? a : b; },
    chosen_gradient(static_cast<Compare>(le)));

Gradients where_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  const Tensor& condition = call.input(0);
  Tensor g = call.gradient();
  if (call.needs(1)) result[1] = summed_to_input(call, 1, where(condition, g, 0));
  if (call.needs(2)) result[2] = summed_to_input(call, 2, where(condition, 0, g));
  return result;
}

// The condition takes no part in the common dtype, so its own is checked by the user function.
const Op where_op = pointwise_op({.name = "where",
                                  .slots = {{"condition", false}, {"self"}, {"other"}},
                                  .loops = loops<3>([](auto condition, auto a, auto b) {
                                    return condition != decltype(a)(0) ? a : b;
                                  }),
                                  .gradient = where_gradient,
                                  .saves = {.inputs = 0b001}});

template <class C>
C within(C x, C min, C max) {
  if (x != x) return x;
  C raised = x < min || min != min ? min : x;
  return raised > max || max != max ? max : raised;
}

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr auto int64_min = std::numeric_limits<std::int64_t>::min();
constexpr auto int64_max = std::numeric_limits<std::int64_t>::max();

// The elements that a bound leaves as they are.
Tensor kept_by(const GradientCall& call, std::size_t i, std::string_view name, bool is_min) {
  const Tensor& x = call.input(0);
  if (has_input(call, i)) return is_min ? ge(x, call.input(i)) : le(x, call.input(i));
  Number bound = number_in(call.attributes(), name).value_or(is_min ? -unbounded : unbounded);
  return is_min ? ge(x, bound) : le(x, bound);
}

Gradients clamp_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  Tensor above = kept_by(call, 1, "min", true), below = kept_by(call, 2, "max", false);
  if (call.needs(0)) {
    Tensor kept = logical_or(logical_and(above, below), isnan(call.input(0)));
    result[0] = summed_to_input(call, 0, where(kept, g, 0));
  }
  if (call.needs(1)) {
    Tensor wins = logical_not(above);
    if (has_input(call, 2)) wins = logical_and(wins, lt(call.input(1), call.input(2)));
    result[1] = summed_to_input(call, 1, where(wins, g, 0));
  }
  if (call.needs(2)) {
    Tensor wins = logical_not(below);
    if (has_input(call, 1)) wins = logical_or(wins, gt(call.input(1), call.input(2)));
    result[2] = summed_to_input(call, 2, where(wins, g, 0));
  }
  return result;
}

// A bound that is absent is the widest of the compute type.
Op clamp_op_of(std::string name, std::vector<PointwiseSlot> slots) {
  return pointwise_op({.name = std::move(name),
                       .slots = std::move(slots),
                       .loops =
                           [](ComputeType type, const Attributes&) {
                             return loops_for<3>(type, [](auto x, auto min, auto max) {
                               return within(x, min, max);
                             });
                           },
                       .gradient = clamp_gradient,
                       .saves = {.inputs = 0b111}});
}
const Op clamp_op = clamp_op_of("clamp", {{"self"}, {"min"}, {"max"}});

const Op masked_fill_op = pointwise_op(
    {.name = "masked_fill",
     .slots = {{"self"}, {"mask", false}, {"value", false}},
     .loops =
         loops<3>([](auto x, auto mask, auto value) { return mask != decltype(x)(0) ? value : x; }),
     .gradient =
         [](const GradientCall& call) {
           Gradients result(call.input_count());
           Tensor g = call.gradient();
           if (call.needs(0))
             result[0] = summed_to_input(call, 0, masked_fill(g, call.input(1), 0));
           if (call.needs(2)) result[2] = summed_to_input(call, 2, where(call.input(1), g, 0));
           return result;
         },
     .saves = {.inputs = 0b010}});

const Op copysign_op =
    pointwise_op({.name = "copysign",
                  .slots = compared_slots,
                  .result = PointwiseResult::floating,
                  .loops = floating_loops<2>([](auto a, auto b) { return std::copysign(a, b); }),
                  .gradient =
                      [](const GradientCall& call) {
                        Gradients result(2);
                        Tensor g = call.gradient();
                        const Tensor &a = call.input(0), &b = call.input(1);
                        if (call.needs(0))
                          result[0] =
                              summed_to_input(call, 0, g * (sign(a) * copysign(ones_like(a), b)));
                        if (call.needs(1)) result[1] = summed_to_input(call, 1, zeros_like(g));
                        return result;
                      },
                  .saves = {.inputs = 0b11}});

const Op nan_to_num_op = pointwise_op(
    {.name = "nan_to_num",
     .slots = {{"self"}, {"nan", false}, {"posinf", false}, {"neginf", false}},
     .loops = loops<4>([](auto x, auto nan, auto plus, auto minus) {
       using C = decltype(x);
       if constexpr (std::is_integral_v<C>)
         return x;
       else
         return x != x ? nan : x == C(unbounded) ? plus : x == C(-unbounded) ? minus : x;
     }),
     .gradient = [](const GradientCall& call) -> Gradients {
       return {where(isfinite(call.input(0)), call.gradient(), 0)};
     },
     .saves = {.inputs = 1}});

const Op* const selection_list[] = {&maximum_op,     &minimum_op,  &fmax_op,
                                    &fmin_op,        &where_op,    &clamp_op,
                                    &masked_fill_op, &copysign_op, &nan_to_num_op};

const Tensor& checked_condition(const Tensor& condition) {
  if (condition.dtype() != DType::boolean && condition.dtype() != DType::uint8)
    raise(ErrorKind::runtime_error, "where",
          "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
          to_string(condition.dtype()));
  return condition;
}

// The largest finite number of a dtype.
double largest(DType dtype) {
  switch (dtype) {
    case DType::float64: return std::numeric_limits<double>::max();
    case DType::bfloat16: return std::numeric_limits<BFloat16>::max();
    case DType::float16: return 65504;
    default: return double(std::numeric_limits<float>::max());
  }
}

// The bound that leaves everything as it is, of the kind that doesn't promote.
Number no_bound(const Tensor& x, bool is_min) {
  if (is_floating_point(x.dtype())) return is_min ? -unbounded : unbounded;
  return is_min ? int64_min : int64_max;
}

Tensor clamped(const Tensor& x, const Tensor& min, const Tensor& max, const Attributes& bounds) {
  if (max.is_defined()) return call_one(clamp_op, {x, min, max}, bounds);
  if (min.is_defined()) return call_one(clamp_op, {x, min}, bounds);
  return call_one(clamp_op, {x}, bounds);
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return call_one(maximum_op, {a, b}); }
Tensor minimum(const Tensor& a, const Tensor& b) { return call_one(minimum_op, {a, b}); }
Tensor fmax(const Tensor& a, const Tensor& b) { return call_one(fmax_op, {a, b}); }
Tensor fmin(const Tensor& a, const Tensor& b) { return call_one(fmin_op, {a, b}); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return call_one(where_op, {checked_condition(condition), a, b});
}
Tensor where(const Tensor& condition, const Tensor& a, Number b) {
  return call_one(where_op, {checked_condition(condition), a}, {{"other", b.attribute()}});
}
Tensor where(const Tensor& condition, Number a, const Tensor& b) {
  return call_one(where_op, {checked_condition(condition), Tensor(), b}, {{"self", a.attribute()}});
}
Tensor where(const Tensor& condition, Number a, Number b) {
  return call_one(where_op, {checked_condition(condition)},
                  {{"self", a.attribute()}, {"other", b.attribute()}});
}

Attributes clamp_bounds(const Tensor& x, std::optional<Number> min, std::optional<Number> max) {
  if (!min && !max)
    raise(ErrorKind::runtime_error, "clamp", "At least one of 'min' or 'max' must not be None");
  return {{"min", min.value_or(no_bound(x, true)).attribute()},
          {"max", max.value_or(no_bound(x, false)).attribute()}};
}

Tensor clamp(const Tensor& x, std::optional<Number> min, std::optional<Number> max) {
  return clamped(x, {}, {}, clamp_bounds(x, min, max));
}
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max) {
  if (!min.is_defined() && !max.is_defined()) clamp_bounds(x, {}, {});
  Attributes bounds;
  if (!min.is_defined()) bounds.set("min", no_bound(x, true).attribute());
  if (!max.is_defined()) bounds.set("max", no_bound(x, false).attribute());
  return clamped(x, min, max, bounds);
}
Tensor clamp_min(const Tensor& x, Number min) { return clamp(x, min); }
Tensor clamp_min(const Tensor& x, const Tensor& min) { return clamp(x, min, Tensor()); }
Tensor clamp_max(const Tensor& x, Number max) { return clamp(x, {}, max); }
Tensor clamp_max(const Tensor& x, const Tensor& max) { return clamp(x, Tensor(), max); }

const Tensor& checked_mask(const Tensor& mask) {
  if (mask.dtype() != DType::boolean)
    raise(ErrorKind::runtime_error, "masked_fill",
          "masked_fill only supports boolean masks, but got mask with dtype {}",
          to_string(mask.dtype()));
  return mask;
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value) {
  return call_one(masked_fill_op, {x, checked_mask(mask)}, {{"value", value.attribute()}});
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  if (value.dim() != 0)
    raise(ErrorKind::runtime_error, "masked_fill",
          "masked_fill only supports a 0-dimensional value tensor, but got tensor with {} "
          "dimension(s).",
          value.dim());
  return call_one(masked_fill_op, {x, checked_mask(mask), value});
}
Tensor copysign(const Tensor& a, const Tensor& b) { return call_one(copysign_op, {a, b}); }
Tensor nan_to_num(const Tensor& x, const NanToNum& options) {
  double most = largest(x.dtype());
  return call_one(nan_to_num_op, {x},
                  {{"nan", options.nan},
                   {"posinf", options.positive_infinity.value_or(most)},
                   {"neginf", options.negative_infinity.value_or(-most)}});
}

gsl::span<const Op* const> selection_ops() { return selection_list; }

}  // namespace simmesh
