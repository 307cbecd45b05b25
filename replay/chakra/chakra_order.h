#pragma once

#include <cstdint>
#include <vector>

#include "replay/chakra/chakra_trace.h"

namespace simmesh::replay {

// chakra_order returns the ids of a trace in the order of a traversal that always takes the
// smallest id whose data dependencies are done. A dependency on an id that the trace doesn't have
// counts as done. Nodes on a cycle, and nodes that depend on them, are left out.
std::vector<std::uint64_t> chakra_order(const ChakraTrace& trace);

}  // namespace simmesh::replay
