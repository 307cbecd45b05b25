#pragma once

#include <unordered_map>

#include "collectives/comm_event.h"
#include "replay/record/recorded_rank.h"
#include "replay/record/trace_builder.h"

namespace simmesh::replay {

// CommRecorder makes nodes "record_param_comms" of a rank's communications, in the conventions of
// PyTorch's NCCL backend. An operation that blocks is one node; one that was started is a node, and
// its wait another. all_gather is "_allgather_base" and reduce_scatter "_reduce_scatter_base"; with
// uneven parts they are "all_gather" and "reduce_scatter" with a list of the parts. all_to_all is
// "all_to_allv", and on lists "all_to_all". Operations on several tensors are the coalesced ones. A
// broadcast of an object is one of bytes.
//
// An uneven all_to_all without split sizes has the sizes of its parts in elements, and tensors of
// one dim: along other dims than the first the parts of a real one are copied together.
class CommRecorder {
 public:
  CommRecorder(TraceBuilder& builder, RecordedRank& recorded)
      : builder_(builder), recorded_(recorded) {}

  void see(const CommEvent& event, TraceThread thread);

 private:
  // An operation that was started and not waited for.
  struct Started {
    std::uint32_t node;
    std::uint32_t comm;
    bool is_promised;  // the outputs are tensors that only exist after the wait
  };

  void see_collective(const CommEvent& event, TraceThread thread);
  void see_message(const CommEvent& event, TraceThread thread);
  void see_wait(const CommEvent& event, TraceThread thread);
  std::uint32_t add(const CommEvent& event, std::string_view name, TraceThread thread);
  void set_inputs(const CommEvent& event, TraceNode& node);
  void set_outputs(const CommEvent& event, std::uint32_t index, bool& is_promised);
  void set_splits(const CommEvent& event, TraceComm& comm, RecordedComm& recorded);
  std::uint32_t group_of(const ProcessGroup& group);

  TraceBuilder& builder_;
  RecordedRank& recorded_;
  std::unordered_map<const Group*, std::uint32_t> groups_;
  std::unordered_map<const Group*, std::int64_t> messages_;  // how many so far
  std::unordered_map<const WorkState*, Started> started_;
};

}  // namespace simmesh::replay
