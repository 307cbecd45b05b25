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

// read_comm returns what the arguments of a communication node say. Leading tensors are there for
// all but waits and barriers; then come the request, the group, a rank, the name, the splits, and
// from schema 1.0.3 on (before it: only the last) the group's first rank, stride and size, and from
// PyTorch 2.13 on whether it is asynchronous. What doesn't have this form is added to the trace's
// findings (rule "comm_arguments").
TraceComm read_comm(const CommNode& comm, ExecutionTrace& trace);

}  // namespace simmesh::replay
