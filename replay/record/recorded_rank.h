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

// RecordedComm is what the recorder knows of a communication beside TraceComm.
struct RecordedComm {
  std::uint32_t node = 0;   // index
  std::uint32_t group = 0;  // index in RecordedRank::groups
  // What PyTorch's traces don't say, and stands in attributes of its own.
  std::optional<ReduceOp> reduce = {};
  double factor = 1.0;  // of premul_sum
  std::int64_t dim = 0;
  std::int64_t scatter_dim = 0;
  std::optional<std::int64_t> tag = {};
  // What comes from each member of an all_to_all is known to these only.
  bool lacks_out_split = false;
  // The tensor that is gathered or cut is one of parts whose sizes the members know.
  bool has_uneven_parts = false;
};

// RecordedRank is the trace of one rank as the rank itself knows it; finish_job completes it.
struct RecordedRank {
  ExecutionTrace trace;
  std::vector<RecordedGroup> groups;  // in the order of their first use
  std::vector<RecordedComm> comms;    // as in the trace
};

}  // namespace simmesh::replay
