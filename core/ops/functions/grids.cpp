#include "core/ops/functions/grids.h"

#include <cstdint>
#include <vector>

#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/reductions/scans.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

namespace {

template <class Keeps>
Tensor triangle_indices(const TriangleOf& triangle, Keeps keeps) {
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t row = 0; row < triangle.rows; ++row)
    for (std::int64_t column = 0; column < triangle.columns; ++column) {
      if (!keeps(column - row)) continue;
      rows.push_back(row);
      columns.push_back(column);
    }
  auto count = std::int64_t(rows.size());
  rows.insert(rows.end(), columns.begin(), columns.end());
  return vector_of<std::int64_t>(rows).view(Dims{2, count});
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

Tensor vander(const Tensor& x, const Vandermonde& options) {
  if (x.dim() != 1)
    raise(ErrorKind::runtime_error, "vander", "x must be a one-dimensional tensor.");
  std::int64_t columns = options.columns.value_or(x.numel());
  if (columns < 0) raise(ErrorKind::runtime_error, "vander", "N must be non-negative.");
  DType dtype = is_floating_point(x.dtype()) ? x.dtype() : DType::int64;
  if (columns == 0) return zeros({x.numel(), 0}, dtype);
  Tensor first = ones({x.numel(), 1}, dtype);
  if (columns == 1) return first;
  Tensor factors = expand(unsqueeze(to(x, dtype), 1), {x.numel(), columns - 1});
  Tensor powers = cat({first, cumprod(factors, 1)}, 1);
  return options.increasing ? powers : flip(powers, {1});
}

Tensor tril_indices(const TriangleOf& triangle) {
  return triangle_indices(triangle, [&](std::int64_t above) { return above <= triangle.diagonal; });
}

Tensor triu_indices(const TriangleOf& triangle) {
  return triangle_indices(triangle, [&](std::int64_t above) { return above >= triangle.diagonal; });
}

}  // namespace simmesh
