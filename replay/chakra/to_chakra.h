#pragma once

#include "replay/chakra/chakra_trace.h"
#include "replay/job/trace_job.h"

namespace simmesh::replay {

// to_chakra returns the execution trace of a rank as a graph, as simulators take it: the operators
// and communications of its replay list, and the annotations above them. A node's control
// dependency is its parent. Its data dependencies are the nodes that wrote the storages of its
// inputs, and those that have read the storages of its outputs since they were written; a wait
// writes the outputs of its collective. A communication depends on the one before it in its group,
// and a wait on its communication.
//
// Attributes are those of the converter of MLCommons Chakra: "is_cpu_op" is true for annotations
// and waits; communications have "comm_type", "comm_size" (bytes of the inputs, of a receive those
// of the output), "pg_name", and messages "comm_src", "comm_dst" and "comm_tag"; other operators
// have "tensor_size" (bytes of all their tensors). There are no times.
ChakraTrace to_chakra(const RankTrace& rank);

}  // namespace simmesh::replay
