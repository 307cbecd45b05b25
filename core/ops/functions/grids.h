#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// GridIndexing selects the dim of a grid that goes along the first tensor: the first (ij) or the
// second (xy).
enum class GridIndexing : std::uint8_t { ij, xy };

// meshgrid returns views of the vectors, or scalars, of the shape that has one dim for each:
// element [i, j, ...] of the k-th is element i, j, ... of the k-th vector. Raises a RuntimeError
// for no tensors and for a tensor of more dims.
std::vector<Tensor> meshgrid(gsl::span<const Tensor> tensors,
                             GridIndexing indexing = GridIndexing::ij);
inline std::vector<Tensor> meshgrid(std::initializer_list<Tensor> tensors,
                                    GridIndexing indexing = GridIndexing::ij) {
  return meshgrid(gsl::span<const Tensor>(tensors.begin(), tensors.size()), indexing);
}

// Vandermonde are the options of vander: the number of columns, that of the elements where none is
// given, and whether the powers grow from left to right.
struct Vandermonde {
  std::optional<std::int64_t> columns{};
  bool increasing = false;
};
// vander returns the powers of a vector's elements: row i has x[i]^(columns - 1) to 1. Integers
// become int64. Raises a RuntimeError for another shape and for columns below 0.
Tensor vander(const Tensor& x, const Vandermonde& options = {});

// TriangleOf are the sizes of a matrix, and the diagonal at which its triangle ends or begins.
struct TriangleOf {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t diagonal = 0;
};
// tril_indices returns the places on and below a diagonal in row-major order: int64 [2, count],
// rows and columns. triu_indices those on and above it.
Tensor tril_indices(const TriangleOf& triangle);
Tensor triu_indices(const TriangleOf& triangle);

}  // namespace simmesh
