#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <vector>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// LabelComm is the communication of an operator "c10d::allreduce_". Such operators stand above the
// nodes "record_param_comms" of NCCL; other backends, such as gloo, record nothing else.
struct LabelComm {
  std::string name;        // "allreduce"
  std::int64_t rank = -1;  // the root or the peer; -1 for all others
  // Arguments that begin with the outputs have the inputs after them: the number of the outputs'
  // tensors. nullopt where there is one list, which is both.
  std::optional<std::size_t> outputs;
  std::vector<std::int64_t> in_split;
  std::vector<std::int64_t> out_split;
};

// read_label_comm reads the arguments of an operator; nullopt for operators that don't communicate,
// and for arguments of another form.
std::optional<LabelComm> read_label_comm(std::string_view name, simdjson::dom::array arguments);

// AdoptedLabel is a communication that a node may get.
struct AdoptedLabel {
  std::int64_t node = 0;  // id
  LabelComm comm;
};

// adopt_labels makes operators the communications of their nodes where no node "record_param_comms"
// is above or below them. They are in the process group that the trace records; where it
// records several with different members, nothing tells which. Their requests count down from -1.
// Call it when all nodes are there.
void adopt_labels(const std::vector<AdoptedLabel>& labels, ExecutionTrace& trace);

}  // namespace simmesh::replay
