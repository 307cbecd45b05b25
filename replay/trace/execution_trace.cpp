#include "replay/trace/execution_trace.h"

#include <algorithm>
#include <limits>

#include "core/check/int128.h"

namespace simmesh::replay {

const TraceNode* ExecutionTrace::find(std::int64_t id) const {
  auto place =
      std::lower_bound(nodes.begin(), nodes.end(), id,
                       [](const TraceNode& node, std::int64_t key) { return node.id < key; });
  return place != nodes.end() && place->id == id ? &*place : nullptr;
}

bool is_communication(const ExecutionTrace& trace, const TraceNode& node) {
  return node.comm.has_value() || trace.text(node.name) == "record_param_comms";
}

std::int64_t end_bytes(const ExecutionTrace& trace, const TraceTensor& tensor, bool uses_strides) {
  // Figures of a broken trace may be anything.
  constexpr Int128 bytes_max = std::numeric_limits<std::int64_t>::max();
  auto in_bytes = [&](Int128 items) {
    return std::int64_t(std::clamp(items * tensor.item_bytes, -bytes_max, bytes_max));
  };
  if (!uses_strides || !tensor.strides) return in_bytes(Int128(tensor.offset) + tensor.elements);
  if (tensor.elements == 0) return in_bytes(tensor.offset);
  gsl::span<const std::int64_t> shape = trace.numbers_in(tensor.shape);
  gsl::span<const std::int64_t> strides = trace.numbers_in(*tensor.strides);
  Int128 end = Int128(tensor.offset) + 1;
  for (std::size_t dim = 0; dim < std::min(shape.size(), strides.size()); ++dim)
    end = std::clamp(end + (Int128(shape[dim]) - 1) * strides[dim], -bytes_max, bytes_max);
  return in_bytes(end);
}

}  // namespace simmesh::replay
