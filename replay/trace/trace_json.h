#pragma once

#include "core/check/json_value.h"
#include "replay/trace/execution_trace.h"
#include "replay/trace/replay_list.h"
#include "replay/trace/trace_summary.h"

namespace simmesh::replay {

// summary_json returns a summary as an object with the names of its fields; groups have PyTorch's
// names, and null stands for no groups.
JsonValue summary_json(const TraceSummary& summary);

// comm_json returns the communication of a node: {"node", "name", "req", "group", "rank",
// "in_split", "out_split", "in", "out", "dtype"} and "attrs" where the trace has them. A request
// and a group have the form in which they were recorded.
JsonValue comm_json(const ExecutionTrace& trace, const TraceNode& node, const TraceComm& comm);

// comm_list_json returns the communications of the replay list, in order.
JsonValue comm_list_json(const ExecutionTrace& trace, const ReplayList& list);

// label_list_json returns the nodes named "c10d::...", which record calls whatever the backend:
// {"node", "name", "in", "out", "ints"} with [dtype, elements] for each tensor.
JsonValue label_list_json(const ExecutionTrace& trace);

}  // namespace simmesh::replay
