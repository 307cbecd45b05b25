#include "core/ops/matrices/products.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/kernels/matrix.h"
#include "core/ops/kernels/scales.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Tensor scaled_by(const Tensor& x, double factor) { return factor == 1 ? x : mul(x, factor); }

// Transposes a matrix, or each matrix of a batch.
Tensor matrices_transposed(const Tensor& matrices) {
  return matrices.shape().size() == 2 ? t(matrices) : transpose(matrices, 1, 2);
}

// Fills in the gradients of two inputs, the first at index left, whose product has the gradient g.
void add_factor_gradients(const GradientCall& call, std::size_t left, const Tensor& g,
                          Gradients& gradients) {
  std::size_t right = left + 1;
  if (call.needs(left))
    gradients[left] = product_for_input(call, left, g, matrices_transposed(call.input(right)));
  if (call.needs(right))
    gradients[right] = product_for_input(call, right, matrices_transposed(call.input(left)), g);
}

// The gradient of mm and bmm.
Gradients product_gradient(const GradientCall& call) {
  Gradients gradients(2);
  add_factor_gradients(call, 0, call.gradient(), gradients);
  return gradients;
}

// The gradient of addmm and baddbmm.
Gradients added_product_gradient(const GradientCall& call) {
  Gradients gradients(3);
  Tensor g = call.gradient();
  Scales scales = scales_of(call.attributes());
  if (call.needs(0)) gradients[0] = summed_to_input(call, 0, scaled_by(g, scales.beta));
  add_factor_gradients(call, 1, scaled_by(g, scales.alpha), gradients);
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

Gradients addmv_gradient(const GradientCall& call) {
  Gradients gradients(3);
  Tensor g = call.gradient();
  Scales scales = scales_of(call.attributes());
  if (call.needs(0)) gradients[0] = summed_to_input(call, 0, scaled_by(g, scales.beta));
  if (call.needs(1)) gradients[1] = scaled_by(outer(g, call.input(2)), scales.alpha);
  KeepUnrounded scope(call.is_unfinished(2));
  if (call.needs(2)) gradients[2] = scaled_by(mv(t(call.input(1)), g), scales.alpha);
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

void products_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"mm", {product_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"bmm", {product_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"mv", {mv_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"dot", {dot_gradient, {.inputs = 0b11, .crosswise = true}}},
      {"addmm", {added_product_gradient, {.inputs = 0b110, .crosswise = true}}},
      {"addmv", {addmv_gradient, {.inputs = 0b110, .crosswise = true}}},
      {"baddbmm", {added_product_gradient, {.inputs = 0b110, .crosswise = true}}},
      {"linear", {linear_gradient, {.inputs = 0b11, .crosswise = true}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
