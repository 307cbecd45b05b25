#pragma once

#include <string>
#include <vector>

#include "checkpoint/paddle/flex_plan.h"

namespace simmesh {

// FlexItem is a copy that one rank makes for another when a flexible checkpoint of Paddle is
// loaded, as Paddle lists it: offsets of the stored and the wanted part in the tensor, and of the
// copied elements in these parts.
struct FlexItem {
  std::string key;
  std::size_t reader = 0, rank = 0, file = 0;
  Dims stored_offset, from, to;
  Shape sizes;
  Dims wanted_offset;
};

// flex_exchanges returns the copies of each exchange of a load that isn't local. Boxes take one.
// Ranges take two: parts that don't fill the smallest box of rows around them are completed first,
// from one another, as ranges; then the boxes are exchanged.
std::vector<std::vector<FlexItem>> flex_exchanges(
    const std::vector<checkpoint::FlexStorage>& storage,
    const std::vector<std::vector<checkpoint::FlexShard>>& wanted,
    const checkpoint::FlexLoadPlan& plan);

}  // namespace simmesh
