#include "core/ops/matrices/linear_algebra.h"

#include <limits>
#include <vector>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/kernels/matrix_batch.h"
#include "core/ops/op_list.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

std::vector<double> solved(const Matrix& a, const Matrix& b) {
  Elimination result = eliminated(a, b);
  if (result.singular)
    raise(ErrorKind::runtime_error, "linalg_solve",
          "The solver failed because the input matrix is singular.");
  return std::move(result.solution.values);
}

// Kernel of an op that makes one matrix, or one number, of each square matrix.
using OfMatrix = std::vector<double> (*)(const Matrix&);
Op square_op(const char* name, OfMatrix of, bool is_number) {
  return {.name = name,
          .shape = [name, is_number](Types inputs, const Attributes&) -> TensorTypes {
            check_matrices(inputs[0], name, true);
            TensorType result = inputs[0];
            if (is_number) result.shape.resize(result.shape.size() - 2);
            return {result};
          },
          .kernel =
              [of, is_number](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
                MatrixBatch batch(inputs[0]);
                if (is_number && inputs[0].numel() == 0)
                  return adopt_(outputs[0], full(outputs[0].shape(), outputs[0].dtype(), 1));
                MatrixResults results;
                for (std::int64_t i = 0; i < batch.count(); ++i) results.add(of(batch.matrix(i)));
                results.write(outputs[0]);
              }};
}
Op matrix_op(const char* name, OfMatrix of) { return square_op(name, of, false); }
Op number_op(const char* name, OfMatrix of) { return square_op(name, of, true); }

std::vector<double> inverted(const Matrix& a) {
  Matrix identity = {a.rows, a.rows, std::vector<double>(a.values.size(), 0.0)};
  for (std::int64_t i = 0; i < a.rows; ++i) identity(i, i) = 1;
  return solved(a, identity);
}

const Op cholesky_op =
    matrix_op("linalg_cholesky", [](const Matrix& a) { return cholesky_factor(a).values; });
const Op inverse_op = matrix_op("linalg_inv", inverted);
const Op det_op = number_op("linalg_det", [](const Matrix& a) {
  return std::vector<double>{eliminated(a, {a.rows, 0, {}}).determinant};
});

const Op slogdet_op = {
    .name = "linalg_slogdet",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_matrices(inputs[0], "linalg_slogdet", true);
      TensorType result = inputs[0];
      result.shape.resize(result.shape.size() - 2);
      return {result, result};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          if (inputs[0].numel() == 0) {
            adopt_(outputs[0], full(outputs[0].shape(), outputs[0].dtype(), 1));
            return adopt_(outputs[1], zeros(outputs[1].shape(), outputs[1].dtype()));
          }
          MatrixBatch batch(inputs[0]);
          MatrixResults signs, logarithms;
          for (std::int64_t i = 0; i < batch.count(); ++i) {
            Elimination result = eliminated(batch.matrix(i), {inputs[0].shape().back(), 0, {}});
            signs.add({&result.sign, 1});
            logarithms.add({&result.log_determinant, 1});
          }
          signs.write(outputs[0]);
          logarithms.write(outputs[1]);
        },
};

const Op solve_op = {
    .name = "linalg_solve",
    .shape = [](Types inputs, const Attributes&) -> TensorTypes {
      check_matrices(inputs[0], "linalg_solve", true);
      check_matrices(inputs[1], "linalg_solve", false);
      const Shape &a = inputs[0].shape, &b = inputs[1].shape;
      Shape expected = a;
      expected.back() = b.back();
      if (b != expected || inputs[0].dtype != inputs[1].dtype)
        raise(ErrorKind::runtime_error, "linalg_solve",
              "Incompatible shapes of A and B for the equation AX = B: {} and {}",
              to_string(DimSpan(a)), to_string(DimSpan(b)));
      return {inputs[1]};
    },
    .kernel =
        [](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
          MatrixBatch a(inputs[0]), b(inputs[1]);
          MatrixResults results;
          for (std::int64_t i = 0; i < b.count(); ++i)
            results.add(solved(a.matrix(i), b.matrix(i)));
          results.write(outputs[0]);
        },
};

}  // namespace

Tensor cholesky(const Tensor& a) { return call_one(cholesky_op, {a}); }

Tensor solve(const Tensor& a, const Tensor& b) { return call_one(solve_op, {a, b}); }

Tensor inverse(const Tensor& a) { return call_one(inverse_op, {a}); }

Tensor det(const Tensor& a) { return call_one(det_op, {a}); }

SignAndLogarithm slogdet(const Tensor& a) {
  auto outputs = call(slogdet_op, {a});
  return {outputs[0], outputs[1]};
}

Tensor logdet(const Tensor& a) {
  auto [sign, logarithm] = slogdet(a);
  return where(lt(sign, 0), std::numeric_limits<double>::quiet_NaN(), logarithm);
}

void linear_algebra_ops(OpList& ops) {
  ops.add({&cholesky_op, &det_op, &inverse_op, &slogdet_op, &solve_op});
}

}  // namespace simmesh
