#include "core/ops/matrices/linear_algebra.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/kernels/matrix_batch.h"
#include "core/ops/matrices/products.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// Returns the lower triangle with half of the diagonal.
Tensor half_lower(const Tensor& a) {
  return tril(a, -1) + mul(a, eye(a.size(-1 + a.dim()), {}, a.dtype())) * 0.5;
}

// Returns the gradient with respect to the symmetric matrix l l^T (Murray, Differentiation of the
// Cholesky decomposition).
Gradients cholesky_gradient(const GradientCall& call) {
  const Tensor& l = call.output();
  Tensor inverse_l = inverse(l);
  Tensor inner = half_lower(matmul(adjoint(l), call.gradient()));
  Tensor g = matmul(matmul(adjoint(inverse_l), inner), inverse_l);
  return {(g + adjoint(g)) * 0.5};
}

Gradients inverse_gradient(const GradientCall& call) {
  Tensor turned = adjoint(call.output());
  return {neg(matmul(matmul(turned, call.gradient()), turned))};
}

Tensor as_factor(const Tensor& scalars) { return unsqueeze(unsqueeze(scalars, -1), -1); }

Gradients det_gradient(const GradientCall& call) {
  return {as_factor(call.gradient() * call.output()) * adjoint(inverse(call.input(0)))};
}

Gradients solve_gradient(const GradientCall& call) {
  Tensor g = solve(adjoint(call.input(0)), call.gradient());
  return {neg(matmul(g, adjoint(call.output()))), g};
}

Gradients slogdet_gradient(const GradientCall& call) {
  if (!call.has_gradient(1)) return {Tensor()};
  return {as_factor(call.gradient(1)) * adjoint(inverse(call.input(0)))};
}

}  // namespace

void linear_algebra_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"linalg_cholesky", {cholesky_gradient, {.outputs = 1}}},
      {"linalg_inv", {inverse_gradient, {.outputs = 1}}},
      {"linalg_det", {det_gradient, {.inputs = 1, .outputs = 1}}},
      {"linalg_slogdet", {slogdet_gradient, {.inputs = 1}}},
      {"linalg_solve", {solve_gradient, {.inputs = 0b01, .outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
