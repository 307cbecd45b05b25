#include "replay/trace/node_places.h"

namespace simmesh::replay {

namespace {

constexpr std::uint64_t numbers_per_node = 8;

}  // namespace

NodePlaces::NodePlaces(const ExecutionTrace& trace) : trace_(trace) {
  if (trace.nodes.empty()) return;
  std::uint64_t numbers =
      std::uint64_t(trace.nodes.back().id) - std::uint64_t(trace.nodes.front().id);
  if (numbers >= numbers_per_node * trace.nodes.size()) return;
  dense_.assign(numbers + 1, nowhere);
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
    std::uint32_t& place = dense_[std::size_t(trace.nodes[i].id - trace.nodes.front().id)];
    if (place == nowhere) place = i;
  }
}

std::optional<std::uint32_t> NodePlaces::find(std::int64_t id) const {
  if (dense_.empty()) {
    const TraceNode* node = trace_.find(id);
    return node ? std::optional(std::uint32_t(node - trace_.nodes.data())) : std::nullopt;
  }
  std::uint64_t number = std::uint64_t(id) - std::uint64_t(trace_.nodes.front().id);
  if (number >= dense_.size() || dense_[number] == nowhere) return std::nullopt;
  return dense_[number];
}

}  // namespace simmesh::replay
