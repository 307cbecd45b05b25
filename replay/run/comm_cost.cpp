#include "replay/run/comm_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collectives/device_launch.h"

namespace simmesh::replay {

namespace {

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

const RankProgram& rank_at(const ReplayProgram& program, const Meeting& meeting,
                           std::size_t member) {
  return program.ranks[std::size_t(members_of(program, meeting)[member])];
}

double bytes_in(const RankProgram& rank, TraceRange tensors) {
  double bytes = 0;
  for (const ProgramTensor& tensor : rank.tensors_in(tensors))
    bytes += double(tensor.elements) * double(bytes_per_element(tensor.dtype));
  return bytes;
}

CollectiveOp op_of(CommKind kind) {
  switch (kind) {
    case CommKind::all_reduce:
    case CommKind::all_reduce_coalesced: return CollectiveOp::all_reduce;
    case CommKind::broadcast: return CollectiveOp::broadcast;
    case CommKind::reduce: return CollectiveOp::reduce;
    case CommKind::all_gather:
    case CommKind::all_gather_base:
    case CommKind::all_gather_coalesced: return CollectiveOp::all_gather;
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_base:
    case CommKind::reduce_scatter_coalesced: return CollectiveOp::reduce_scatter;
    case CommKind::all_to_all:
    case CommKind::all_to_allv: return CollectiveOp::all_to_all;
    case CommKind::gather: return CollectiveOp::gather;
    case CommKind::scatter: return CollectiveOp::scatter;
    default: return CollectiveOp::barrier;
  }
}

// Returns the bytes that a member of an all-to-all sends to the others or gets from them, whichever
// are more.
double exchanged_bytes(const RankProgram& rank, const ProgramStep& step) {
  double most = 0;
  for (bool is_sent : {true, false}) {
    TraceRange tensors = is_sent ? step.inputs : step.outputs;
    auto views = rank.tensors_in(tensors);
    auto own = std::size_t(step.member);
    double bytes = bytes_in(rank, tensors), kept = 0;
    if (step.is_list) {
      if (own < views.size())
        kept = double(views[own].elements) * double(bytes_per_element(views[own].dtype));
    } else if (!views.empty()) {
      auto split = rank.numbers_in(is_sent ? step.in_split : step.out_split);
      if (own < split.size()) kept = double(split[own]) * double(bytes_per_element(views[0].dtype));
    }
    most = std::max(most, bytes - kept);
  }
  return most;
}

// Returns the size of the members' operand that determines a collective's cost: the largest one;
// for an all-to-all the even operand with as many bytes to the others.
double operand_bytes(const ReplayProgram& program, const Meeting& meeting, CollectiveOp op,
                     const CommChoices& choices) {
  double most = 0, sum = 0, exchanged = 0;
  auto members = double(meeting.steps.size());
  for (std::size_t member = 0; member < meeting.steps.size(); ++member) {
    if (!meeting.steps[member]) continue;
    const RankProgram& rank = rank_at(program, meeting, member);
    const ProgramStep& step = rank.steps[*meeting.steps[member]];
    double bytes = bytes_in(rank, step.inputs);
    most = std::max(most, bytes);
    sum += bytes;
    exchanged = std::max(exchanged, exchanged_bytes(rank, step));
  }
  if (op != CollectiveOp::all_to_all) return most;
  if (choices.even_splits) return sum / members;
  return members > 1 ? exchanged * members / (members - 1) : most;
}

double tree_us(const CollectiveSize& size, const Topology& topology) {
  double passes = facts_of(size.op).tree_passes;
  double hops = passes * std::ceil(std::log2(double(size.members)));
  return topology.base_us + hops * size.link.latency_us +
         passes * size.bytes / gibibyte / size.link.bandwidth_gb_s * 1e6;
}

bool has_tree(CollectiveOp op) { return facts_of(op).tree_passes > 0; }

}  // namespace

double comm_us(const ReplayProgram& program, const Meeting& meeting, const Topology& topology,
               const CommChoices& choices) {
  const std::vector<std::int64_t>& members = members_of(program, meeting);
  auto first = std::find_if(meeting.steps.begin(), meeting.steps.end(),
                            [](const auto& step) { return step.has_value(); });
  if (first == meeting.steps.end()) return 0;
  auto member = std::size_t(first - meeting.steps.begin());
  auto [lowest, highest] = std::minmax_element(members.begin(), members.end());
  CollectiveSize size{.op = op_of(rank_at(program, meeting, member).steps[**first].comm),
                      .members = std::int64_t(members.size()),
                      .link = topology.link_among(*lowest, *highest)};
  size.bytes = operand_bytes(program, meeting, size.op, choices);
  if (choices.algorithm == CommAlgorithm::tree && has_tree(size.op)) return tree_us(size, topology);
  return collective_us(size, topology);
}

double comm_us(const ReplayProgram& program, const MessageMeeting& message,
               const Topology& topology) {
  const RankProgram& from = program.ranks[message.sender.rank];
  const RankProgram& to = program.ranks[message.receiver.rank];
  auto [lower, higher] = std::minmax(from.rank, to.rank);
  return topology.message_us(bytes_in(from, from.steps[message.sender.step].inputs),
                             topology.link_among(lower, higher));
}

double moved_bytes(const ReplayProgram& program, const Meeting& meeting,
                   const CommChoices& choices) {
  Topology unit{.devices_per_host = std::int64_t(program.ranks.size()),
                .bandwidth_intra_gb_s = 1,
                .latency_intra_us = 0,
                .base_us = 0,
                .all_to_all_penalty_us = 0};
  return comm_us(program, meeting, unit, choices) / 1e6 * gibibyte;
}

}  // namespace simmesh::replay
