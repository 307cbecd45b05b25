#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/arithmetic/reductions/reduce_op.h"
#include "mesh/rank_list.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// RecordedGroup is a process group that a rank has used: its members in order, and its label.
struct RecordedGroup {
  RankList members;
  std::string label;

  bool operator==(const RecordedGroup&) const = default;
};

// RecordedComm is the recorder's knowledge of a communication beside TraceComm.
struct RecordedComm {
  std::uint32_t node = 0;   // index
  std::uint32_t group = 0;  // index in RecordedRank::groups
  // Data that PyTorch's traces lack, in attributes of their own.
  std::optional<ReduceOp> reduce = {};
  double factor = 1.0;  // of premul_sum
  std::int64_t dim = 0;
  std::int64_t scatter_dim = 0;
  std::optional<std::int64_t> tag = {};
  // Only the members know the elements from each member of an all_to_all.
  bool lacks_out_split = false;
  // The whole tensor has parts whose sizes only the members know.
  bool has_uneven_parts = false;
};

// RecordedRank is the trace of one rank as the rank itself knows it; finish_job completes it.
struct RecordedRank {
  ExecutionTrace trace;
  std::vector<RecordedGroup> groups;  // in the order of their first use
  std::vector<RecordedComm> comms;    // as in the trace
};

}  // namespace simmesh::replay
