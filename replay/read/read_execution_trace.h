#pragma once

#include <string>

#include "replay/read/byte_source.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// OperatorLabels says if operators such as "c10d::allreduce_" are communications where NCCL records
// none (label_comm.h). PyTorch's replay tool leaves them alone.
enum class OperatorLabels { are_communications, are_left_alone };

// read_execution_trace reads a trace in any schema from 1.0.1 to 1.1.1, and the common part of
// newer ones. Memory: the trace and a window of the text. Faults of single nodes are in the trace's
// findings. Raises a BadTrace for text that isn't JSON (rule "json"), for anything but an object
// with a schema and a list of nodes ("top_level"), and for an unknown major version ("schema").
ExecutionTrace read_execution_trace(ByteSource& source,
                                    OperatorLabels labels = OperatorLabels::are_communications);

// The same for a file, plain or compressed, or an archive of one. Raises a ValueError where it
// can't be opened.
ExecutionTrace read_execution_trace(const std::string& path);

}  // namespace simmesh::replay
