#include "replay/analysis/join_trace.h"

#include <algorithm>

#include "core/check/error.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/replay_list.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view join_place = "replay/join_trace";

std::vector<const TraceNode*> comm_nodes(const ExecutionTrace& trace) {
  std::vector<const TraceNode*> nodes;
  for (std::uint32_t index : replay_list(trace, tree_of(trace)).operators) {
    const TraceNode& node = trace.nodes[index];
    const TraceComm* comm = trace.comm_of(node);
    if (!comm) continue;
    CommKind kind = comm_kind(trace.text(comm->name));
    if (kind != CommKind::wait && kind != CommKind::init) nodes.push_back(&node);
  }
  return nodes;
}

// item_bytes returns the bytes of an element of the first tensor; 0 without one.
std::int64_t item_bytes(const ExecutionTrace& trace, const TraceNode& node) {
  for (TraceRange range : {node.inputs, node.outputs})
    for (const TraceTensor& tensor : trace.tensors_in(range))
      if (tensor.is_defined) return tensor.item_bytes;
  return 0;
}

std::vector<std::int64_t> numbers(const ExecutionTrace& trace, TraceRange range) {
  gsl::span<const std::int64_t> some = trace.numbers_in(range);
  return {some.begin(), some.end()};
}

void fill(TimelineComm& comm, const ExecutionTrace& trace, const TraceNode& node,
          std::int64_t group_size) {
  const TraceComm& recorded = *trace.comm_of(node);
  comm.name = trace.text(recorded.name);
  comm.group_size = recorded.group_size > 0 ? recorded.group_size : group_size;
  if (is_message(comm_kind(comm.name))) comm.peer = recorded.rank;
  comm.in_elements = recorded.in_elements;
  comm.out_elements = recorded.out_elements;
  comm.item_bytes = item_bytes(trace, node);
  comm.in_split = numbers(trace, recorded.in_split);
  comm.out_split = numbers(trace, recorded.out_split);
}

}  // namespace

void join_trace(JobTimeline& timeline, const TraceJob& job,
                std::optional<std::int64_t> group_size) {
  for (RankTimeline& rank : timeline.ranks) {
    const RankTrace* recorded = job.find(rank.rank);
    if (!recorded)
      raise(ErrorKind::value_error, join_place, "rank {} has a timeline, expected a trace of it",
            rank.rank);
    std::vector<const TraceNode*> nodes = comm_nodes(recorded->trace);
    if (nodes.size() != rank.comms.size())
      raise(ErrorKind::value_error, join_place,
            "rank {}: expected as many communications in the trace as in the timeline, got {} and "
            "{}",
            rank.rank, nodes.size(), rank.comms.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      TimelineComm& comm = rank.comms[i];
      fill(comm, recorded->trace, *nodes[i], group_size.value_or(timeline.world_size));
      rank.spans[comm.span].bytes = std::max(comm.in_elements, comm.out_elements) * comm.item_bytes;
    }
  }
}

}  // namespace simmesh::replay
