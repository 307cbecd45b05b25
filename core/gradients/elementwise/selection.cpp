#include "core/ops/elementwise/selection.h"

#include <limits>

#include "core/gradients/families.h"
#include "core/gradients/input_gradient.h"
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

// The winner gets the gradient; equals share it.
GradientRule winner_gradient(Compare wins) {
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

// fmax gives the first operand's gradient to the first where it is chosen.
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

// The elements that a bound leaves as they are.
Tensor kept_by(const GradientCall& call, std::size_t i, std::string_view name, bool is_min) {
  const Tensor& x = call.input(0);
  if (call.has_input(i)) return is_min ? ge(x, call.input(i)) : le(x, call.input(i));
  Number bound = number_or(call.attributes(), name, is_min ? -widest : widest);
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
    if (call.has_input(2)) wins = logical_and(wins, lt(call.input(1), call.input(2)));
    result[1] = summed_to_input(call, 1, where(wins, g, 0));
  }
  if (call.needs(2)) {
    Tensor wins = logical_not(below);
    if (call.has_input(1)) wins = logical_or(wins, gt(call.input(1), call.input(2)));
    result[2] = summed_to_input(call, 2, where(wins, g, 0));
  }
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

gsl::span<const OpGradient> selection_gradients() {
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
  return gradients;
}

}  // namespace simmesh
