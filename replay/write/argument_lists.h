#pragma once

#include <string>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// ArgumentLists are a node's inputs or outputs as PyTorch's observer writes them: four JSON lists
// with an entry for each argument.
struct ArgumentLists {
  std::string values = "[]";
  std::string shapes = "[]";
  std::string types = "[]";
  std::string strides = "[]";
};

// input_lists returns the inputs of a node. For a communication they are those of TraceComm, in the
// layout of PyTorch 2.13. For other nodes they are the tensors, and for arguments that aren't
// tensors those in ExecutionTrace::arguments, or without any the lists of integers. A tensor
// without strides has an empty list of them.
ArgumentLists input_lists(const ExecutionTrace& trace, const TraceNode& node);

// output_lists returns the outputs of a node; of a communication in one list.
ArgumentLists output_lists(const ExecutionTrace& trace, const TraceNode& node);

}  // namespace simmesh::replay
