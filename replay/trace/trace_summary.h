#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// TraceSummary is an execution trace in figures. Tensors are counted over all inputs and outputs of
// all nodes.
struct TraceSummary {
  std::string schema;
  std::int64_t nodes = 0;
  std::int64_t unique_ids = 0;
  std::int64_t min_id = 0;
  std::int64_t max_id = 0;
  std::int64_t root = 0;                             // id
  std::int64_t operators = 0;                        // in the replay list
  std::int64_t all_operators = 0;                    // at any depth
  std::int64_t triton = 0;                           // in the replay list
  std::int64_t comm_nodes = 0;                       // named record_param_comms
  std::map<std::string, std::int64_t> comm_by_name;  // by the collective's name
  std::vector<std::int64_t> steps;                   // ids of the markers
  std::int64_t file_order_inversions = 0;            // neighbours in the file with falling id
  std::int64_t orphans = 0;                          // nodes whose parent isn't in the trace
  std::int64_t backward_parent = 0;                  // nodes with an id below their parent's
  std::map<std::int64_t, std::int64_t> threads;      // nodes by thread
  std::int64_t tensor_tuples = 0;                    // distinct defined ones
  std::int64_t tensor_ids = 0;
  std::int64_t storages = 0;  // distinct pairs of storage and device
  std::int64_t storage_ids = 0;
  std::int64_t undefined_tensors = 0;  // occurrences
  std::int64_t tuples_with_two_shapes = 0;
  bool strides = false;            // whether the trace has them
  std::int64_t tensor_ranges = 0;  // nodes with a range of values
  std::int64_t process_group_nodes = 0;
  std::vector<ProcessGroupRecord> process_groups;  // of the first of these nodes
};

// summarize counts the contents of a trace. Raises as tree_of does.
TraceSummary summarize(const ExecutionTrace& trace);

}  // namespace simmesh::replay
