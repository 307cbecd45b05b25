#include "core/ops/matrices/spectral.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/diagonals.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/kernels/matrix_batch.h"
#include "core/ops/matrices/linear_algebra.h"
#include "core/ops/matrices/products.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// Handles a = q r with at least as many rows as columns.
Tensor tall_qr_gradient(const Qr& factors, const Tensor& g_q, const Tensor& g_r) {
  Tensor inner = matmul(factors.r, adjoint(g_r)) - matmul(adjoint(g_q), factors.q);
  Tensor symmetric = tril(inner) + adjoint(tril(inner, -1));
  Tensor outer = g_q + matmul(factors.q, symmetric);
  return adjoint(solve(factors.r, adjoint(outer)));
}

// The first columns of a wide matrix determine q; the other columns are q times the rest of r.
Gradients qr_gradient(const GradientCall& call) {
  Qr factors = {call.output(0), call.output(1)};
  Tensor g_q = call.gradient(0), g_r = call.gradient(1);
  std::int64_t rows = factors.r.size(factors.r.dim() - 2);
  std::int64_t columns = factors.r.size(factors.r.dim() - 1);
  if (rows == columns) return {tall_qr_gradient(factors, g_q, g_r)};
  auto first = [&](const Tensor& x) { return narrow(x, {.dim = -1, .start = 0, .length = rows}); };
  auto rest = [&](const Tensor& x) {
    return narrow(x, {.dim = -1, .start = rows, .length = columns - rows});
  };
  Tensor others = matmul(factors.q, rest(factors.r));
  Tensor g_first = tall_qr_gradient({factors.q, first(factors.r)},
                                    g_q + matmul(others, adjoint(rest(g_r))), first(g_r));
  return {cat({g_first, matmul(factors.q, rest(g_r))}, -1)};
}

// Returns 1 / (values[j] - values[i]) at [i, j], and 0 on the diagonal.
Tensor inverse_gaps(const Tensor& values) {
  Tensor unit = eye(values.size(values.dim() - 1), {}, values.dtype());
  Tensor gaps = unsqueeze(values, -2) - unsqueeze(values, -1);
  return (1 - unit) / (gaps + unit);
}

Gradients eigh_gradient(const GradientCall& call) {
  const Tensor &values = call.output(0), &vectors = call.output(1);
  Tensor inner = diag_embed(call.gradient(0));
  if (call.has_gradient(1))
    inner = inner + matmul(adjoint(vectors), call.gradient(1)) * inverse_gaps(values);
  Tensor g = matmul(matmul(vectors, inner), adjoint(vectors));
  return {(g + adjoint(g)) * 0.5};
}

Tensor skewed(const Tensor& a) { return a - adjoint(a); }

Gradients svd_gradient(const GradientCall& call) {
  const Tensor &u = call.output(0), &s = call.output(1), &vh = call.output(2);
  Tensor inner = diag_embed(call.gradient(1)), v = adjoint(vh);
  if (!call.has_gradient(0) && !call.has_gradient(2)) return {matmul(matmul(u, inner), vh)};
  Tensor g_u = call.gradient(0), g_v = adjoint(call.gradient(2));
  Tensor across = unsqueeze(s, -2), down = unsqueeze(s, -1), gaps = inverse_gaps(s * s);
  Tensor of_u = skewed(matmul(adjoint(u), g_u)) * gaps * across;
  Tensor of_v = skewed(matmul(v.transpose(-2, -1), g_v)) * gaps * down;
  Tensor g = matmul(matmul(u, inner + of_u + of_v), vh);
  // The part of the gradients outside the spaces of u and v.
  auto outside = [](const Tensor& basis, const Tensor& x) {
    return x - matmul(basis, matmul(adjoint(basis), x));
  };
  std::int64_t least = s.size(s.dim() - 1);
  if (u.size(u.dim() - 2) > least) g = g + matmul(outside(u, g_u / across), vh);
  if (vh.size(vh.dim() - 1) > least) g = g + matmul(u, adjoint(outside(v, g_v / across)));
  return {g};
}

}  // namespace

void spectral_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"linalg_qr", {qr_gradient, {.outputs = 0b11}}},
      {"linalg_eigh", {eigh_gradient, {.outputs = 0b11}}},
      {"linalg_svd", {svd_gradient, {.outputs = 0b111}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
