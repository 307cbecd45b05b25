#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/shape.h"

namespace simmesh::testing {

// shapes_up_to returns every shape of 1 .. dims_limit dims, unit dims included, with at most
// ranks_limit ranks.
inline std::vector<Shape> shapes_up_to(std::size_t dims_limit, std::int64_t ranks_limit) {
  std::vector<Shape> shapes{{}};
  for (std::size_t first = 0, dims = 1; dims <= dims_limit; ++dims) {
    std::size_t last = shapes.size();
    for (; first < last; ++first)
      for (std::int64_t size = 1; size * numel(shapes[first]) <= ranks_limit; ++size) {
        Shape longer = shapes[first];
        longer.push_back(size);
        shapes.push_back(std::move(longer));
      }
  }
  shapes.erase(shapes.begin());
  return shapes;
}

// index_of_coordinate is the row-major index of a coordinate.
inline std::int64_t index_of_coordinate(DimSpan coordinate, DimSpan shape) {
  std::int64_t index = 0;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) index = index * shape[dim] + coordinate[dim];
  return index;
}

// coordinate_of_index is the coordinate of a row-major index.
inline Dims coordinate_of_index(std::int64_t index, DimSpan shape) {
  Dims coordinate(shape.size());
  for (std::size_t dim = shape.size(); dim-- > 0; index /= shape[dim])
    coordinate[dim] = index % shape[dim];
  return coordinate;
}

// NestedArray is a mesh as numpy would hold it: all ranks, row-major.
struct NestedArray {
  Shape shape;
  std::vector<std::int64_t> ranks;

  // slice returns the ranks with the coordinate of `viewer` on all dims but the given ones, which
  // run row-major in the order of `dims`.
  std::vector<std::int64_t> slice(DimSpan viewer, DimSpan dims) const {
    Shape sliced;
    for (std::int64_t dim : dims) sliced.push_back(shape[static_cast<std::size_t>(dim)]);
    std::vector<std::int64_t> result;
    for (std::int64_t index = 0; index < numel(sliced); ++index) {
      Dims part = coordinate_of_index(index, sliced);
      Dims coordinate(viewer.begin(), viewer.end());
      for (std::size_t i = 0; i < dims.size(); ++i)
        coordinate[static_cast<std::size_t>(dims[i])] = part[i];
      result.push_back(ranks[static_cast<std::size_t>(index_of_coordinate(coordinate, shape))]);
    }
    return result;
  }
};

}  // namespace simmesh::testing
