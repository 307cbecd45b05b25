#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor/shape.h"

namespace simmesh::paddle {

// DimGroup is an independent part of a reshape: the elements of its input dims are those of its
// output dims. An input dim of size 1 is in a group only where it pairs with an output dim of size
// 1.
//
//   paddle::reshape_groups(Shape{4, 8, 16}, Shape{32, 4, 4});   // {0, 1} -> {0}; {2} -> {1, 2}
struct DimGroup {
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;

  bool operator==(const DimGroup&) const = default;
};

// reshape_target returns the shape that a reshape asks for: 0 stands for the size that the tensor
// has there, one -1 for the remaining size. Raises a ValueError where the number of elements
// differs.
Shape reshape_target(DimSpan shape, const std::vector<std::int64_t>& asked);

// reshape_groups returns the smallest groups, in order. Both shapes have the same number of
// elements, and at least one.
std::vector<DimGroup> reshape_groups(DimSpan from, DimSpan to);

}  // namespace simmesh::paddle
