#include "core/ops/kernels/matrix_batch.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

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

Tensor adjoint(const Tensor& a) { return transpose(a, -2, -1); }

MatrixBatch::MatrixBatch(const Tensor& tensor)
    : values_(converted(tensor, DType::float64).contiguous()),
      rows_(tensor.size(tensor.dim() - 2)),
      columns_(tensor.size(tensor.dim() - 1)) {}

Matrix MatrixBatch::matrix(std::int64_t index) const {
  auto values = values_.values<double>().subspan(std::size_t(index * rows_ * columns_),
                                                 std::size_t(rows_ * columns_));
  return {rows_, columns_, std::vector<double>(values.begin(), values.end())};
}

void MatrixResults::write(Tensor& out) const {
  Tensor whole = empty(out.shape(), DType::float64);
  SIMMESH_CHECK(whole.numel() == std::int64_t(values_.size()), "{} values for {}", values_.size(),
                to_string(DimSpan(out.shape())));
  std::copy(values_.begin(), values_.end(), whole.mutable_values<double>().begin());
  adopt_(out, converted(whole, out.dtype()));
}

}  // namespace simmesh
