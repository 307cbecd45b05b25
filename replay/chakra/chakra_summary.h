#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/chakra/chakra_trace.h"

namespace simmesh::replay {

// ChakraSummary is a Chakra trace in figures.
struct ChakraSummary {
  std::int64_t messages = 0;
  std::string version;
  std::vector<ChakraAttribute> metadata;
  std::map<ChakraNodeType, std::int64_t> node_types;  // nodes of each type
  std::int64_t ctrl_deps = 0;                         // entries, over all nodes
  std::int64_t data_deps = 0;
  std::map<std::string, std::int64_t> attr_names;  // nodes that have each
  std::uint64_t dur_sum_us = 0;
  std::int64_t cpu_ops = 0;          // nodes with is_cpu_op
  std::int64_t comm_nodes = 0;       // collectives, sends and receives
  std::vector<std::uint64_t> order;  // of chakra_order: all of it
  std::string order_hash;            // SHA-256 of the ids in decimal, joined by commas
};

// chakra_summary counts the contents of a trace, and traverses it by its dependencies.
ChakraSummary chakra_summary(const ChakraTrace& trace);

}  // namespace simmesh::replay
