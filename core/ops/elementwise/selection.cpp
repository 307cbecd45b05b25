#include "core/ops/elementwise/selection.h"

#include <cmath>
#include <limits>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

const std::vector<PointwiseSlot> compared_slots = {{attribute::self}, {attribute::other}};

template <class F>
Op choice_op(const std::string& name, F f) {
  return pointwise_op({.name = name, .slots = compared_slots, .loops = loops<2>(f)});
}
const Op maximum_op = choice_op("maximum", [](auto a, auto b) { return a != a || a > b ? a : b; });
const Op minimum_op = choice_op("minimum", [](auto a, auto b) { return a != a || a < b ? a : b; });
const Op fmax_op = choice_op("fmax", [](auto a, auto b) { return b != b || a >= b ? a : b; });
const Op fmin_op = choice_op("fmin", [](auto a, auto b) { return b != b || a <= b ? a : b; });

// The condition takes no part in the common dtype; the user function checks its dtype.
const Op where_op =
    pointwise_op({.name = "where",
                  .slots = {{attribute::tensor, false}, {attribute::self}, {attribute::other}},
                  .loops = loops<3>([](auto condition, auto a, auto b) {
                    return condition != decltype(a)(0) ? a : b;
                  })});

template <class C>
C within(C x, C min, C max) {
  if (x != x) return x;
  C raised = x < min || min != min ? min : x;
  return raised > max || max != max ? max : raised;
}

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr auto int64_min = std::numeric_limits<std::int64_t>::min();
constexpr auto int64_max = std::numeric_limits<std::int64_t>::max();

// An absent bound is the widest of the compute type.
const Op clamp_op = pointwise_op(
    {.name = "clamp",
     .slots = {{attribute::self}, {attribute::min}, {attribute::max}},
     .loops = loops<3>([](auto x, auto min, auto max) { return within(x, min, max); })});

const Op masked_fill_op = pointwise_op(
    {.name = "masked_fill",
     .slots = {{attribute::self}, {attribute::tensor, false}, {attribute::value, false}},
     .loops = loops<3>(
         [](auto x, auto mask, auto value) { return mask != decltype(x)(0) ? value : x; })});

const Op copysign_op =
    pointwise_op({.name = "copysign",
                  .slots = compared_slots,
                  .result = PointwiseResult::floating,
                  .loops = floating_loops<2>([](auto a, auto b) { return std::copysign(a, b); })});

const Op nan_to_num_op = pointwise_op(
    {.name = "nan_to_num",
     .slots = {{attribute::self},
               {attribute::nan, false},
               {attribute::posinf, false},
               {attribute::neginf, false}},
     .loops = loops<4>([](auto x, auto nan, auto plus, auto minus) {
       using C = decltype(x);
       if constexpr (std::is_integral_v<C>)
         return x;
       else
         return x != x ? nan : x == C(unbounded) ? plus : x == C(-unbounded) ? minus : x;
     })});

const Tensor& checked_condition(const Tensor& condition) {
  if (condition.dtype() != DType::boolean && condition.dtype() != DType::uint8)
    raise(ErrorKind::runtime_error, "where",
          "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
          to_string(condition.dtype()));
  return condition;
}

// Returns the bound that changes nothing, of the kind that doesn't promote.
Number no_bound(const Tensor& x, bool is_min) {
  if (is_floating_point(x.dtype())) return is_min ? -unbounded : unbounded;
  return is_min ? int64_min : int64_max;
}

// Returns clamp's bounds as its arguments.
Attributes clamp_bounds(const Tensor& x, std::optional<Number> min, std::optional<Number> max) {
  if (!min && !max)
    raise(ErrorKind::runtime_error, "clamp", "At least one of 'min' or 'max' must not be None");
  return {attribute::min = min.value_or(no_bound(x, true)),
          attribute::max = max.value_or(no_bound(x, false))};
}

Tensor clamped(const Tensor& x, const Tensor& min, const Tensor& max, const Attributes& bounds) {
  if (max.is_defined()) return call_one(clamp_op, {x, min, max}, bounds);
  if (min.is_defined()) return call_one(clamp_op, {x, min}, bounds);
  return call_one(clamp_op, {x}, bounds);
}

const Tensor& checked_mask(const Tensor& mask) {
  if (mask.dtype() != DType::boolean)
    raise(ErrorKind::runtime_error, "masked_fill",
          "masked_fill only supports boolean masks, but got mask with dtype {}",
          to_string(mask.dtype()));
  return mask;
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
  return call_one(where_op, {checked_condition(condition), a}, {attribute::other = b});
}
Tensor where(const Tensor& condition, Number a, const Tensor& b) {
  return call_one(where_op, {checked_condition(condition), Tensor(), b}, {attribute::self = a});
}
Tensor where(const Tensor& condition, Number a, Number b) {
  return call_one(where_op, {checked_condition(condition)},
                  {attribute::self = a, attribute::other = b});
}

Tensor clamp(const Tensor& x, std::optional<Number> min, std::optional<Number> max) {
  return clamped(x, {}, {}, clamp_bounds(x, min, max));
}
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max) {
  if (!min.is_defined() && !max.is_defined()) clamp_bounds(x, {}, {});
  Attributes bounds;
  if (!min.is_defined()) bounds.set(attribute::min = no_bound(x, true));
  if (!max.is_defined()) bounds.set(attribute::max = no_bound(x, false));
  return clamped(x, min, max, bounds);
}
Tensor clamp_min(const Tensor& x, Number min) { return clamp(x, min); }
Tensor clamp_min(const Tensor& x, const Tensor& min) { return clamp(x, min, Tensor()); }
Tensor clamp_max(const Tensor& x, Number max) { return clamp(x, {}, max); }
Tensor clamp_max(const Tensor& x, const Tensor& max) { return clamp(x, Tensor(), max); }

Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value) {
  return call_one(masked_fill_op, {x, checked_mask(mask)}, {attribute::value = value});
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

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::float64: return std::numeric_limits<double>::max();
    case DType::bfloat16: return std::numeric_limits<BFloat16>::max();
    case DType::float16: return 65504;
    default: return double(std::numeric_limits<float>::max());
  }
}

Tensor nan_to_num(const Tensor& x, const NanToNum& options) {
  double most = largest_finite(x.dtype());
  return call_one(
      nan_to_num_op, {x},
      {attribute::nan = options.nan, attribute::posinf = options.positive_infinity.value_or(most),
       attribute::neginf = options.negative_infinity.value_or(-most)});
}

Tensor& clamp_(Tensor& self, std::optional<Number> min, std::optional<Number> max) {
  return call_in_place(clamp_op, self, {self}, clamp_bounds(self, min, max));
}
Tensor& masked_fill_(Tensor& self, const Tensor& mask, Number value) {
  return call_in_place(masked_fill_op, self, {self, checked_mask(mask)},
                       {attribute::value = value});
}

void selection_ops(OpList& ops) {
  ops.add({&maximum_op, &minimum_op, &fmax_op, &fmin_op, &where_op, &clamp_op, &masked_fill_op,
           &copysign_op, &nan_to_num_op});
}

}  // namespace simmesh
