#pragma once

#include <vector>

#include "checkpoint/catalog/box.h"

namespace simmesh::checkpoint {

// FlatRange is [begin, end) of a tensor's elements in row-major order: what a rank holds of one
// whose ranks share it without looking at its dims.
struct FlatRange {
  std::int64_t begin = 0, end = 0;

  bool operator==(const FlatRange&) const = default;
  std::int64_t numel() const { return end - begin; }
};

// boxes_of_range cuts a range of a tensor into boxes, in row-major order: the elements of each lie
// together in the range, and there are at most two for each dim. None for an empty range.
std::vector<Box> boxes_of_range(DimSpan shape, const FlatRange& range);

}  // namespace simmesh::checkpoint
