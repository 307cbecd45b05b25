#include <cmath>
#include <vector>

#include <simmesh/core/check/error.h>
#include <simmesh/core/ops/call.h>
#include <simmesh/core/ops/linear_algebra.h>
#include <simmesh/core/ops/matrix_decompositions.h>
#include <simmesh/core/ops/promotion.h>
#include <simmesh/core/ops/views.h>
#include <simmesh/core/tensor/convert.h>

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

void check_matrices(const TensorType& a, const char* where, bool square) {
  std::size_t dims = a.shape.size();
  if (dims < 2 || (square && a.shape[dims - 1] != a.shape[dims - 2]))
    raise(ErrorKind::runtime_error, where,
          "A must be batches of {}matrices, but they are of the shape {}", square ? "square " : "",
          to_string(DimSpan(a.shape)));
  if (a.dtype != DType::float64 && a.dtype != DType::float32)
    raise(ErrorKind::runtime_error, where,
          "Expected a floating point tensor of float32 or float64 as input. Got {}",
          to_string(a.dtype));
}

// Batch reads and writes the matrices of a tensor one by one, as double.
class Batch {
 public:
  explicit Batch(const Tensor& tensor)
      : values_(converted(tensor, DType::float64).contiguous()),
        rows_(tensor.size(tensor.dim() - 2)),
        columns_(tensor.size(tensor.dim() - 1)) {}

  std::int64_t count() const {
    return values_.element_count() == 0 ? 0 : values_.element_count() / (rows_ * columns_);
  }
  Matrix matrix(std::int64_t index) const {
    auto values = values_.values<double>().subspan(std::size_t(index * rows_ * columns_),
                                                   std::size_t(rows_ * columns_));
    return {rows_, columns_, std::vector<double>(values.begin(), values.end())};
  }

 private:
  Tensor values_;
  std::int64_t rows_;
  std::int64_t columns_;
};

// Results collects doubles in order and gives them to a tensor.
class Results {
 public:
  void add(gsl::span<const double> values) {
    values_.insert(values_.end(), values.begin(), values.end());
  }
  void write(Tensor& out) const {
    Tensor whole = empty(out.shape(), DType::float64);
    SIMMESH_CHECK(whole.element_count() == std::int64_t(values_.size()), "{} values for {}",
                  values_.size(), to_string(DimSpan(out.shape())));
    std::copy(values_.begin(), values_.end(), whole.mutable_values<double>().begin());
    adopt_(out, converted(whole, out.dtype()));
  }

 private:
  std::vector<double> values_;
};

std::vector<double> solved(const Matrix& a, const Matrix& b) {
  Elimination result = eliminated(a, b);
  if (result.singular)
    raise(ErrorKind::runtime_error, "linalg_solve",
          "The solver failed because the input matrix is singular.");
  return std::move(result.solution.values);
}

// An op that makes one matrix, or one number, of each square matrix.
Op square_op(const char* name, std::vector<double> (*of)(const Matrix&), bool is_scalar) {
  return {.name = name,
          .shape = [name, is_scalar](Types inputs, const Attributes&) -> TensorTypes {
            check_matrices(inputs[0], name, true);
            TensorType result = inputs[0];
            if (is_scalar) result.shape.resize(result.shape.size() - 2);
            return {result};
          },
          .kernel =
              [of, is_scalar](Inputs inputs, const Attributes&, gsl::span<Tensor> outputs) {
                Batch batch(inputs[0]);
                if (is_scalar && inputs[0].element_count() == 0)
                  return adopt_(outputs[0], full(outputs[0].shape(), outputs[0].dtype(), 1));
                Results results;
                for (std::int64_t i = 0; i < batch.count(); ++i) results.add(of(batch.matrix(i)));
                results.write(outputs[0]);
              }};
}

const Op cholesky_op = square_op(
    "linalg_cholesky", [](const Matrix& a) { return cholesky_factor(a).values; }, false);

const Op inverse_op = square_op(
    "linalg_inv",
    [](const Matrix& a) {
      Matrix identity = {a.rows, a.rows, std::vector<double>(a.values.size(), 0.0)};
      for (std::int64_t i = 0; i < a.rows; ++i) identity(i, i) = 1;
      return solved(a, identity);
    },
    false);

const Op det_op = square_op(
    "linalg_det",
    [](const Matrix& a) {
      return std::vector<double>{eliminated(a, {a.rows, 0, {}}).determinant};
    },
    true);

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
          Batch a(inputs[0]), b(inputs[1]);
          Results results;
          for (std::int64_t i = 0; i < b.count(); ++i)
            results.add(solved(a.matrix(i), b.matrix(i)));
          results.write(outputs[0]);
        },
};

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
          Batch batch(inputs[0]);
          Results q, r;
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
          Batch batch(inputs[0]);
          Results values, vectors;
          for (std::int64_t i = 0; i < batch.count(); ++i) {
            Rotations rotations = rotated(batch.matrix(i));
            values.add(rotations.values);
            vectors.add(rotations.vectors.values);
          }
          values.write(outputs[0]);
          vectors.write(outputs[1]);
        },
};

}  // namespace

Tensor cholesky(const Tensor& a) { return call_one(cholesky_op, {a}); }

Tensor solve(const Tensor& a, const Tensor& b) { return call_one(solve_op, {a, b}); }

Tensor inverse(const Tensor& a) { return call_one(inverse_op, {a}); }

Tensor det(const Tensor& a) { return call_one(det_op, {a}); }

Qr qr(const Tensor& a) {
  auto outputs = call(qr_op, {a});
  return {outputs[0], outputs[1]};
}

Eigh eigh(const Tensor& a) {
  auto outputs = call(eigh_op, {a});
  return {outputs[0], outputs[1]};
}

gsl::span<const Op* const> linear_algebra_ops() {
  static const Op* const ops[] = {&cholesky_op, &det_op, &eigh_op, &inverse_op, &qr_op, &solve_op};
  return ops;
}

}  // namespace simmesh
