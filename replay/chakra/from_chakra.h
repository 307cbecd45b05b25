#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "replay/chakra/chakra_trace.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// ChakraRank is the trace of one rank of a job of Chakra's traces.
struct ChakraRank {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

// execution_trace_json returns a graph as an execution trace of PyTorch (schema 1.0.3): its nodes
// in the order of chakra_order, as children of one root. Ids count anew. Nodes that PyTorch
// recorded keep their arguments. Other communications are described by "comm_type", "comm_size"
// (the bytes that a rank gives), "comm_src" and "comm_dst"; they are in the group of all ranks,
// unless "pg_name" names another one, whose members nobody knows. Other operators without arguments
// have no tensors.
//
// Findings are about graphs that can't be put in order: nodes on a cycle of dependencies, which are
// left out ("chakra_cycle", an error), two nodes with one id ("duplicate_id", an error), and
// dependencies on nodes that aren't there ("chakra_dependency", a warning that counts them).
std::string execution_trace_json(const ChakraTrace& trace, const ChakraRank& rank,
                                 Findings& findings);

// json_list returns a list that Python or JSON wrote as JSON: "[[1, 'cuda:0', None]]" as
// "[[1,\"cuda:0\",null]]"; "[]" for any other text.
std::string json_list(std::string_view text);

}  // namespace simmesh::replay
