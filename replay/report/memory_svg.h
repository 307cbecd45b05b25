#pragma once

#include <string>

#include "replay/memory/memory_plan.h"

namespace simmesh::replay {

// memory_svg draws the bytes that a replay of a rank has allocated over its operators, as one SVG
// element: one line for storages that are made when they are first used and freed after their last
// use, one for storages that are made beforehand and stay. At most 1,000 points of each are drawn:
// for more operators, the highest of each stretch.
std::string memory_svg(const MemoryPlan& plan);

}  // namespace simmesh::replay
