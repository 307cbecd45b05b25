#include "core/ops/matrices/spectral.h"

#include <algorithm>
#include <vector>

#include "core/ops/call.h"
#include "core/ops/kernels/matrix_batch.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

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

void spectral_ops(OpList& ops) { ops.add({&eigh_op, &qr_op, &svd_op}); }

}  // namespace simmesh
