#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// NodePlaces finds the nodes of a trace by their ids. It must not outlive the trace.
class NodePlaces {
 public:
  explicit NodePlaces(const ExecutionTrace& trace);

  // find returns the index of the first node with an id.
  std::optional<std::uint32_t> find(std::int64_t id) const;

 private:
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  const ExecutionTrace& trace_;
  // Ids count operators and tensors, so most numbers in between are ids: then this has the index of
  // each number from the least id on; otherwise it is empty.
  std::vector<std::uint32_t> dense_;
};

}  // namespace simmesh::replay
