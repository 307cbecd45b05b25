#include "core/ops/matrices/products.h"

#include "core/gradients/families.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/matrices/matrix.h"
#include "core/ops/matrices/scales.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Tensor scaled_by(const Tensor& x, double factor) { return factor == 1 ? x : mul(x, factor); }

// The gradients of the two matrices differ between one product and a batch of products.
Gradients addmm_gradient(const GradientCall& call) {
  Gradients gradients(3);
  Tensor g = call.gradient();
  Scales scales = scales_of(call.attributes());
  if (call.needs(0)) gradients[0] = summed_to_input(call, 0, scaled_by(g, scales.beta));
  Tensor product = scaled_by(g, scales.alpha);
  if (call.needs(1)) gradients[1] = product_for_input(call, 1, product, t(call.input(2)));
  if (call.needs(2)) gradients[2] = product_for_input(call, 2, t(call.input(1)), product);
  return gradients;
}

Gradients baddbmm_gradient(const GradientCall& call) {
  Gradients gradients(3);
  Tensor g = call.gradient();
  Scales scales = scales_of(call.attributes());
  if (call.needs(0)) gradients[0] = summed_to_input(call, 0, scaled_by(g, scales.beta));
  Tensor product = scaled_by(g, scales.alpha);
  if (call.needs(1))
    gradients[1] = product_for_input(call, 1, product, transpose(call.input(2), 1, 2));
  if (call.needs(2))
    gradients[2] = product_for_input(call, 2, transpose(call.input(1), 1, 2), product);
  return gradients;
}

Gradients mm_gradient(const GradientCall& call) {
  Gradients gradients(2);
  Tensor g = call.gradient();
  if (call.needs(0)) gradients[0] = product_for_input(call, 0, g, t(call.input(1)));
  if (call.needs(1)) gradients[1] = product_for_input(call, 1, t(call.input(0)), g);
  return gradients;
}

Gradients bmm_gradient(const GradientCall& call) {
  Gradients gradients(2);
  Tensor g = call.gradient();
  if (call.needs(0)) gradients[0] = product_for_input(call, 0, g, transpose(call.input(1), 1, 2));
  if (call.needs(1)) gradients[1] = product_for_input(call, 1, transpose(call.input(0), 1, 2), g);
  return gradients;
}

Gradients mv_gradient(const GradientCall& call) {
  Gradients gradients(2);
  Tensor g = call.gradient();
  if (call.needs(0)) gradients[0] = outer(g, call.input(1));
  KeepUnrounded scope(call.is_unfinished(1));
  if (call.needs(1)) gradients[1] = mv(t(call.input(0)), g);
  return gradients;
}

Gradients dot_gradient(const GradientCall& call) {
  Gradients gradients(2);
  Tensor g = call.gradient();
  if (call.needs(0)) gradients[0] = mul(g, call.input(1));
  if (call.needs(1)) gradients[1] = mul(g, call.input(0));
  return gradients;
}

Gradients linear_gradient(const GradientCall& call) {
  Gradients gradients(call.input_count());
  Tensor g = call.gradient(), rows = rows_of(g);
  if (call.needs(0)) gradients[0] = product_for_input(call, 0, rows, call.input(1));
  if (call.needs(1)) gradients[1] = product_for_input(call, 1, t(rows), rows_of(call.input(0)));
  if (call.needs(2)) gradients[2] = summed_to_input(call, 2, g);
  return gradients;
}

}  // namespace

gsl::span<const OpGradient> product_gradients() {
  static const OpGradient gradients[] = {
      {"mm", {mm_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"bmm", {bmm_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"mv", {mv_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"dot", {dot_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"addmm", {addmm_gradient, {.inputs = 0b110, .crosswise = true}}},
      {"baddbmm", {baddbmm_gradient, {.inputs = 0b110, .crosswise = true}}},
      {"linear", {linear_gradient, {.inputs = 0b11, .crosswise = true}}},
  };
  return gradients;
}

}  // namespace simmesh
