#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/kernels/matrix_decompositions.h"
#include "core/ops/op.h"

namespace simmesh {

// check_matrices raises a RuntimeError for a tensor that isn't one of batches of matrices of
// float32 or float64; they must be square where `square` is asked for.
void check_matrices(const TensorType& a, const char* where, bool square);

// adjoint exchanges the last two dims.
Tensor adjoint(const Tensor& a);

// MatrixBatch reads the matrices of a tensor one by one, as double.
class MatrixBatch {
 public:
  explicit MatrixBatch(const Tensor& tensor);

  std::int64_t count() const {
    return values_.numel() == 0 ? 0 : values_.numel() / (rows_ * columns_);
  }
  Matrix matrix(std::int64_t index) const;

 private:
  Tensor values_;
  std::int64_t rows_;
  std::int64_t columns_;
};

// MatrixResults collects doubles in order and gives them to a tensor.
class MatrixResults {
 public:
  void add(gsl::span<const double> values) {
    values_.insert(values_.end(), values.begin(), values.end());
  }
  // write rounds the doubles once to the dtype of out, which has as many elements.
  void write(Tensor& out) const;

 private:
  std::vector<double> values_;
};

}  // namespace simmesh
