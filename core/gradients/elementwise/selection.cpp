#include "core/ops/elementwise/selection.h"

#include <cmath>
#include <limits>
#include <optional>

#include "core/engine/run/followed_release.h"
#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/number.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

using Compare = Tensor (*)(const Tensor&, const Tensor&);
constexpr double widest = std::numeric_limits<double>::infinity();

// The winner gets the gradient; equal elements share it.
GradientRule winner_gradient(Compare wins) {
  return [wins](const GradientCall& call) {
    Gradients result(2);
    const Tensor &a = call.input(0), &b = call.input(1);
    Tensor g = call.gradient();
    // Computes each operand's gradient step by step, as PyTorch does: then distributed operands are
    // redistributed as often as there.
    auto of_operand = [&](std::size_t i, const Tensor& loses) {
      Tensor shared = where(eq(a, b), g * 0.5, g);
      return summed_to_input(call, i, masked_fill(shared, loses, 0));
    };
    if (call.needs(0)) result[0] = of_operand(0, wins(b, a));
    if (call.needs(1)) result[1] = of_operand(1, wins(a, b));
    return result;
  };
}

// The gradient of fmax goes to the first operand where the first is chosen.
GradientRule chosen_gradient(Compare first_wins) {
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

Gradients where_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  const Tensor& condition = call.input(0);
  Tensor g = call.gradient();
  if (call.needs(1)) result[1] = summed_to_input(call, 1, where(condition, g, 0));
  if (call.needs(2)) result[2] = summed_to_input(call, 2, where(condition, 0, g));
  return result;
}

// Bounds are those of a call of clamp: each is a tensor, a number, or not there. Each comparison
// with a bound is one op, made once, as in PyTorch: then distributed inputs are redistributed as
// often as there.
class Bounds {
 public:
  explicit Bounds(const GradientCall& call)
      : x_(call.input(0)),
        min_(bound(call, 1, attribute::min)),
        max_(bound(call, 2, attribute::max)) {}

  bool has_min() const { return min_.tensor.is_defined() || min_.number; }
  bool has_max() const { return max_.tensor.is_defined() || max_.number; }
  bool are_tensors() const { return min_.tensor.is_defined() || max_.tensor.is_defined(); }
  bool are_both() const { return has_min() && has_max(); }

  using OfTensor = Tensor (*)(const Tensor&, const Tensor&);
  using OfNumber = Tensor (*)(const Tensor&, Number);
  // Compares the input with a bound.
  Tensor with_min(OfTensor of_tensor, OfNumber of_number) const {
    return min_.number ? of_number(x_, *min_.number) : of_tensor(x_, min_.tensor);
  }
  Tensor with_max(OfTensor of_tensor, OfNumber of_number) const {
    return max_.number ? of_number(x_, *max_.number) : of_tensor(x_, max_.tensor);
  }
  // Compares the bounds, which are tensors.
  Tensor min_with_max(OfTensor compare) const { return compare(min_.tensor, max_.tensor); }
  Tensor max_with_min(OfTensor compare) const { return compare(max_.tensor, min_.tensor); }

 private:
  struct Bound {
    Tensor tensor;
    std::optional<Number> number;
  };

  static Bound bound(const GradientCall& call, std::size_t input, const Attribute<Number>& name) {
    if (call.has_input(input)) return {call.input(input), std::nullopt};
    Number number = call.attributes().get_or(name, Number(widest));
    if (std::isinf(number.as<double>())) return {};
    return {Tensor(), number};
  }

  Tensor x_;
  Bound min_, max_;
};

// Passes the gradient on where the input lies within the bounds, or at them unless they are open.
Tensor clamp_within(const Tensor& g, const Bounds& bounds, bool has_open_bounds) {
  auto above = [&] { return has_open_bounds ? bounds.with_min(gt, gt) : bounds.with_min(ge, ge); };
  auto below = [&] { return has_open_bounds ? bounds.with_max(lt, lt) : bounds.with_max(le, le); };
  if (!bounds.are_both()) return where(bounds.has_min() ? above() : below(), g, 0);
  Tensor is_above = above();
  return where(logical_and(is_above, below()), g, 0);
}

// An input at a tensor that bounds it gets one half of the gradient, the bound the other.
Tensor clamp_of_input(const Tensor& g, const Bounds& bounds) {
  if (!bounds.has_max())
    return masked_fill(where(bounds.with_min(eq, eq), g * 0.5, g), bounds.with_min(lt, lt), 0);
  if (!bounds.has_min())
    return masked_fill(where(bounds.with_max(eq, eq), g * 0.5, g), bounds.with_max(gt, gt), 0);
  Tensor ascend = bounds.min_with_max(lt);
  Tensor at_min = bounds.with_min(eq, eq);
  Tensor halved = logical_and(logical_or(at_min, bounds.with_max(eq, eq)), ascend);
  Tensor is_under = bounds.with_min(lt, lt);
  Tensor is_outside = logical_or(is_under, bounds.with_max(gt, gt));
  return masked_fill(where(halved, g * 0.5, g), is_outside, 0);
}

Tensor clamp_of_min(const Tensor& g, const Bounds& bounds) {
  if (!bounds.has_max())
    return masked_fill(where(bounds.with_min(eq, eq), g * 0.5, g), bounds.with_min(gt, gt), 0);
  Tensor ascend = bounds.min_with_max(lt), meet = bounds.min_with_max(eq);
  Tensor wins = logical_and(ascend, bounds.with_min(le, le));
  wins = logical_or(wins, logical_and(meet, bounds.with_min(lt, lt)));
  return masked_fill(where(bounds.with_min(eq, eq), g * 0.5, g), logical_not(wins), 0);
}

// Where the bounds are in the wrong order, the upper one gets all of the gradient.
Tensor clamp_of_max(const Tensor& g, const Bounds& bounds) {
  if (!bounds.has_min())
    return masked_fill(where(bounds.with_max(eq, eq), g * 0.5, g), bounds.with_max(lt, lt), 0);
  Tensor ascend = bounds.min_with_max(lt), meet = bounds.min_with_max(eq);
  Tensor descend = bounds.max_with_min(lt);
  Tensor wins = logical_or(descend, logical_and(ascend, bounds.with_max(ge, ge)));
  wins = logical_or(wins, logical_and(meet, bounds.with_max(gt, gt)));
  Tensor halved = logical_and(bounds.with_max(eq, eq), ascend);
  return masked_fill(where(halved, g * 0.5, g), logical_not(wins), 0);
}

// Before release 2.15 an input at a bound gets the whole gradient.
Tensor closed_clamp_of_min(const Tensor& g, const Bounds& bounds) {
  Tensor is_under = bounds.with_min(lt, lt);
  if (bounds.has_max()) is_under = logical_and(bounds.min_with_max(lt), is_under);
  return where(is_under, g, 0);
}
Tensor closed_clamp_of_max(const Tensor& g, const Bounds& bounds) {
  Tensor is_over = bounds.with_max(gt, gt);
  if (bounds.has_min()) is_over = logical_or(bounds.max_with_min(lt), is_over);
  return where(is_over, g, 0);
}

Gradients clamp_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Bounds bounds(call);
  Tensor g = call.gradient();
  bool shares = follows(ReleaseChange::clamp_gradient_at_bounds);
  if (call.needs(1))
    result[1] =
        summed_to_input(call, 1, shares ? clamp_of_min(g, bounds) : closed_clamp_of_min(g, bounds));
  if (call.needs(2))
    result[2] =
        summed_to_input(call, 2, shares ? clamp_of_max(g, bounds) : closed_clamp_of_max(g, bounds));
  if (call.needs(0))
    result[0] = summed_to_input(call, 0,
                                shares && bounds.are_tensors() ? clamp_of_input(g, bounds)
                                                               : clamp_within(g, bounds, shares));
  return result;
}

Gradients masked_fill_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  Tensor g = call.gradient();
  if (call.needs(0)) result[0] = summed_to_input(call, 0, masked_fill(g, call.input(1), 0));
  if (call.needs(2)) result[2] = summed_to_input(call, 2, where(call.input(1), g, 0));
  return result;
}

Gradients copysign_gradient(const GradientCall& call) {
  Gradients result(2);
  Tensor g = call.gradient();
  const Tensor &a = call.input(0), &b = call.input(1);
  if (call.needs(0))
    result[0] = summed_to_input(call, 0, g * (sign(a) * copysign(ones_like(a), b)));
  if (call.needs(1)) result[1] = summed_to_input(call, 1, zeros_like(g));
  return result;
}

Gradients nan_to_num_gradient(const GradientCall& call) {
  return {where(isfinite(call.input(0)), call.gradient(), 0)};
}

}  // namespace

void selection_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"maximum", {winner_gradient(gt), {.inputs = 0b11}}},
      {"minimum", {winner_gradient(lt), {.inputs = 0b11}}},
      {"fmax", {chosen_gradient(ge), {.inputs = 0b11}}},
      {"fmin", {chosen_gradient(le), {.inputs = 0b11}}},
      {"where", {where_gradient, {.inputs = 0b001}}},
      {"clamp", {clamp_gradient, {.inputs = 0b111}}},
      {"masked_fill", {masked_fill_gradient, {.inputs = 0b010}}},
      {"copysign", {copysign_gradient, {.inputs = 0b11}}},
      {"nan_to_num", {nan_to_num_gradient, {.inputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
