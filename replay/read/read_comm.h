#pragma once

#include <cstdint>
#include <simdjson.h>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// CommNode is what a comm is read from: a node "record_param_comms" whose tensors are read already,
// and the values of its inputs.
struct CommNode {
  const TraceNode& node;
  simdjson::dom::array inputs;
  TraceRange attributes;  // in ExecutionTrace::attributes
};

// read_comm returns the contents of a communication node's arguments. All but waits and barriers
// begin with tensors; then come the request, the group, a rank, the name, the splits, and from
// schema 1.0.3 on (before it: only the last) the group's first rank, stride and size, and from
// PyTorch 2.13 on whether it is asynchronous. Arguments that don't have this form are added to the
// trace's findings (rule "comm_arguments").
TraceComm read_comm(const CommNode& comm, ExecutionTrace& trace);

}  // namespace simmesh::replay
