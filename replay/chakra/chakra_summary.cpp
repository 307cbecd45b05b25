#include "replay/chakra/chakra_summary.h"

#include <fmt/format.h>

#include "core/check/join_text.h"
#include "replay/chakra/chakra_order.h"
#include "replay/chakra/sha256.h"

namespace simmesh::replay {

ChakraSummary chakra_summary(const ChakraTrace& trace) {
  ChakraSummary summary;
  summary.messages = trace.messages;
  summary.version = trace.version;
  summary.metadata = trace.metadata;
  for (const ChakraNode& node : trace.nodes) {
    ++summary.node_types[node.type];
    summary.ctrl_deps += std::int64_t(node.ctrl_deps.size());
    summary.data_deps += std::int64_t(node.data_deps.size());
    for (const ChakraAttribute& attribute : node.attributes) ++summary.attr_names[attribute.name];
    summary.dur_sum_us += node.duration_us;
    summary.cpu_ops += node.is_cpu_op();
    summary.comm_nodes += node.is_comm();
  }
  summary.order = chakra_order(trace);
  summary.order_hash = sha256(join_text(summary.order, ","));
  return summary;
}

}  // namespace simmesh::replay
