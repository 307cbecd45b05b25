#include "core/ops/matrices/spectral.h"

#include <algorithm>
#include <vector>

#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/matrices/linear_algebra.h"
#include "core/ops/matrices/matrix_batch.h"
#include "core/ops/matrices/products.h"
#include "core/ops/shapes/diagonals.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/rearranging.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

// Of a = q r with as many rows as columns or more.
Tensor tall_qr_gradient(const Qr& factors, const Tensor& g_q, const Tensor& g_r) {
  Tensor inner = matmul(factors.r, adjoint(g_r)) - matmul(adjoint(g_q), factors.q);
  Tensor symmetric = tril(inner) + adjoint(tril(inner, -1));
  Tensor outer = g_q + matmul(factors.q, symmetric);
  return adjoint(solve(factors.r, adjoint(outer)));
}

// The first columns of a wide matrix fix q, the others are q times the rest of r.
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

// 1 / (values[j] - values[i]) at [i, j], and 0 on the diagonal.
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
  // What of the gradients lies outside the spaces of u and v.
  auto outside = [](const Tensor& basis, const Tensor& x) {
    return x - matmul(basis, matmul(adjoint(basis), x));
  };
  std::int64_t least = s.size(s.dim() - 1);
  if (u.size(u.dim() - 2) > least) g = g + matmul(outside(u, g_u / across), vh);
  if (vh.size(vh.dim() - 1) > least) g = g + matmul(u, adjoint(outside(v, g_v / across)));
  return {g};
}

const Op qr_op = {
    .name = "linalg_qr",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_matrices(inputs[0], "linalg_qr", false);
      TensorType q = inputs[0], r = inputs[0];
      std::int64_t least = std::min(q.shape.end()[-1], q.shape.end()[-2]);
      q.shape.end()[-1] = least;
      r.shape.end()[-2] = least;
      return {q, r};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          MatrixBatch batch(inputs[0]);
          MatrixResults q, r;
          for (std::int64_t i = 0; i < batch.count(); ++i) {
            Reflections factors = reflected(batch.matrix(i));
            q.add(factors.q.values);
            r.add(factors.r.values);
          }
          q.write(outputs[0]);
          r.write(outputs[1]);
        },
    .gradient = qr_gradient,
    .saves = {.outputs = 0b11},
};

const Op eigh_op = {
    .name = "linalg_eigh",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_matrices(inputs[0], "linalg_eigh", true);
      TensorType values = inputs[0];
      values.shape.pop_back();
      return {values, inputs[0]};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          MatrixBatch batch(inputs[0]);
          MatrixResults values, vectors;
          for (std::int64_t i = 0; i < batch.count(); ++i) {
            Rotations rotations = rotated(batch.matrix(i));
            values.add(rotations.values);
            vectors.add(rotations.vectors.values);
          }
          values.write(outputs[0]);
          vectors.write(outputs[1]);
        },
    .gradient = eigh_gradient,
    .saves = {.outputs = 0b11},
};

const Op svd_op = {
    .name = "linalg_svd",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_matrices(inputs[0], "linalg_svd", false);
      TensorType u = inputs[0], s = inputs[0], vh = inputs[0];
      std::int64_t least = std::min(u.shape.end()[-1], u.shape.end()[-2]);
      u.shape.end()[-1] = least;
      vh.shape.end()[-2] = least;
      s.shape.pop_back();
      s.shape.back() = least;
      return {u, s, vh};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          MatrixBatch batch(inputs[0]);
          MatrixResults u, s, v;
          for (std::int64_t i = 0; i < batch.count(); ++i) {
            Singular factors = singular(batch.matrix(i));
            u.add(factors.u.values);
            s.add(factors.values);
            v.add(factors.v.values);
          }
          u.write(outputs[0]);
          s.write(outputs[1]);
          Tensor turned = empty(adjoint(outputs[2]).shape(), outputs[2].dtype());
          v.write(turned);
          copy_(outputs[2], adjoint(turned));
        },
    .gradient = svd_gradient,
    .saves = {.outputs = 0b111},
};

}  // namespace

Qr qr(const Tensor& a) {
  auto outputs = call(qr_op, {a});
  return {outputs[0], outputs[1]};
}

Eigh eigh(const Tensor& a) {
  auto outputs = call(eigh_op, {a});
  return {outputs[0], outputs[1]};
}

Svd svd(const Tensor& a) {
  auto outputs = call(svd_op, {a});
  return {outputs[0], outputs[1], outputs[2]};
}

Tensor svdvals(const Tensor& a) { return svd(a).s; }

gsl::span<const Op* const> spectral_ops() {
  static const Op* const ops[] = {&eigh_op, &qr_op, &svd_op};
  return ops;
}

}  // namespace simmesh
