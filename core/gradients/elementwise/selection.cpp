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

// Bound is one of the two bounds of clamp: the masks of where the input is inside of it, at it, and
// outside of it. A NaN is in none of them.
struct Bound {
  bool is_tensor;
  Tensor inside, at, outside;
};

// Returns a bound, nullopt if there is none.
std::optional<Bound> bound_of(const GradientCall& call, std::size_t input, bool is_min) {
  const Tensor& x = call.input(0);
  auto compared = [&](const auto& bound) {
    Tensor below = lt(x, bound), above = gt(x, bound);
    return Bound{call.has_input(input), is_min ? above : below, eq(x, bound),
                 is_min ? below : above};
  };
  if (call.has_input(input)) return compared(call.input(input));
  Number number =
      call.attributes().get_or(is_min ? attribute::min : attribute::max, Number(widest));
  if (std::isinf(number.as<double>())) return std::nullopt;
  return compared(number);
}

// ClampGradient is the gradient of clamp, split into the parts of the input and of the bounds.
// Where the bounds are in the wrong order, the upper one gets all of it.
class ClampGradient {
 public:
  explicit ClampGradient(const GradientCall& call)
      : g_(call.gradient()),
        min_(bound_of(call, 1, true)),
        max_(bound_of(call, 2, false)),
        shares_(follows(ReleaseChange::clamp_gradient_at_bounds)) {
    if (!call.has_input(1) || !call.has_input(2)) return;
    bounds_ascend_ = lt(call.input(1), call.input(2));
    bounds_descend_ = gt(call.input(1), call.input(2));
  }

  Tensor of_input() const {
    Tensor g = g_;
    for (const std::optional<Bound>& bound : {min_, max_})
      if (bound) g = let_through(*bound, g);
    return g;
  }
  Tensor of_min() const {
    if (!bounds_ascend_) return taken(*min_, beyond(*min_));
    Tensor wins = shares_ ? logical_not(*bounds_descend_) : *bounds_ascend_;
    return taken(*min_, logical_and(min_->outside, wins));
  }
  Tensor of_max() const {
    if (!bounds_descend_) return taken(*max_, beyond(*max_));
    return taken(*max_, logical_or(max_->outside, *bounds_descend_));
  }

 private:
  Tensor beyond(const Bound& bound) const {
    return shares_ ? logical_not(bound.inside) : bound.outside;
  }
  // Returns the elements of which input and bound get one half each.
  Tensor halved(const Bound& bound) const {
    return bounds_ascend_ ? logical_and(bound.at, *bounds_ascend_) : bound.at;
  }
  Tensor let_through(const Bound& bound, const Tensor& g) const {
    if (!shares_) return where(logical_or(bound.inside, bound.at), g, 0);
    if (!bound.is_tensor) return where(bound.inside, g, 0);
    return where(bound.outside, 0, where(halved(bound), g * 0.5, g));
  }
  Tensor taken(const Bound& bound, const Tensor& wins) const {
    Tensor whole = where(wins, g_, 0);
    return shares_ ? where(halved(bound), g_ * 0.5, whole) : whole;
  }

  Tensor g_;
  std::optional<Bound> min_, max_;
  std::optional<Tensor> bounds_ascend_, bounds_descend_;  // if both are tensors
  bool shares_;
};

Gradients clamp_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  ClampGradient gradient(call);
  if (call.needs(0)) result[0] = summed_to_input(call, 0, gradient.of_input());
  if (call.needs(1)) result[1] = summed_to_input(call, 1, gradient.of_min());
  if (call.needs(2)) result[2] = summed_to_input(call, 2, gradient.of_max());
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
