#include "core/ops/functions/grids.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

template <class Keeps>
Tensor triangle_indices(const TriangleOf& triangle, Keeps keeps) {
  Dims rows, columns;
  for (std::int64_t row = 0; row < triangle.rows; ++row)
    for (std::int64_t column = 0; column < triangle.columns; ++column) {
      if (!keeps(column - row)) continue;
      rows.push_back(row);
      columns.push_back(column);
    }
  auto count = std::int64_t(rows.size());
  Tensor result = empty({2, count}, DType::int64);
  auto out = result.mutable_values<std::int64_t>();
  std::copy(rows.begin(), rows.end(), out.begin());
  std::copy(columns.begin(), columns.end(), out.begin() + count);
  return result;
}

}  // namespace

std::vector<Tensor> meshgrid(gsl::span<const Tensor> tensors, GridIndexing indexing) {
  if (tensors.empty())
    raise(ErrorKind::runtime_error, "meshgrid", "meshgrid expects a non-empty TensorList");
  bool is_turned = indexing == GridIndexing::xy && tensors.size() > 1;
  Shape shape;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() > 1)
      raise(ErrorKind::runtime_error, "meshgrid",
            "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got the shape {}",
            to_string(DimSpan(tensor.shape())));
    shape.push_back(tensor.numel());
  }
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Shape along(shape.size(), 1);
    along[i] = shape[i];
    Tensor grid = expand(reshape(tensors[i], along), shape);
    grids.push_back(is_turned ? transpose(grid, 0, 1) : grid);
  }
  return grids;
}

Tensor tril_indices(const TriangleOf& triangle) {
  return triangle_indices(triangle, [&](std::int64_t above) { return above <= triangle.diagonal; });
}

Tensor triu_indices(const TriangleOf& triangle) {
  return triangle_indices(triangle, [&](std::int64_t above) { return above >= triangle.diagonal; });
}

}  // namespace simmesh
