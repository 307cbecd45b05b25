#pragma once

#include <vector>

#include "checkpoint/catalog/box.h"

namespace simmesh::checkpoint {

// FlatRange is the range [begin, end) of a tensor's elements in row-major order. ZeRO gives each
// rank such a range, whatever the dims.
struct FlatRange {
  std::int64_t begin = 0, end = 0;

  bool operator==(const FlatRange&) const = default;
  std::int64_t numel() const { return end - begin; }
};

// boxes_of_range cuts a range of a tensor into boxes, in row-major order. The elements of a box are
// contiguous in the range, and there are at most two boxes for each dim. An empty range has no
// boxes.
std::vector<Box> boxes_of_range(DimSpan shape, const FlatRange& range);

}  // namespace simmesh::checkpoint
