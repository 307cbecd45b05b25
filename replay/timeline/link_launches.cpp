#include "replay/timeline/link_launches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

// parents_of returns for each span of a thread the span that contains it.
std::vector<std::uint32_t> parents_of(const RankTimeline& rank) {
  std::vector<std::uint32_t> order(rank.spans.size());
  std::iota(order.begin(), order.end(), 0u);
  auto key = [&](std::uint32_t index) {
    const TimelineSpan& span = rank.spans[index];
    return std::tuple(span.track, span.begin_us, -span.end_us, index);
  };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<std::uint32_t> parents(rank.spans.size(), none);
  std::vector<std::uint32_t> open;
  for (std::uint32_t index : order) {
    const TimelineSpan& span = rank.spans[index];
    if (rank.tracks[span.track].is_device) continue;
    while (!open.empty() && (rank.spans[open.back()].track != span.track ||
                             rank.spans[open.back()].end_us <= span.begin_us))
      open.pop_back();
    if (!open.empty()) parents[index] = open.back();
    open.push_back(index);
  }
  return parents;
}

// comm_around returns the communication of the spans around a call.
const KinetoComm* comm_around(const KinetoRank& rank, const std::vector<std::uint32_t>& parents,
                              std::uint32_t call) {
  const KinetoComm* label = nullptr;
  for (std::uint32_t span = parents[call]; span != none; span = parents[span]) {
    auto found = rank.comms.find(span);
    if (found == rank.comms.end()) continue;
    if (rank.timeline.spans[span].kind == SpanKind::host) return &found->second;
    if (!label) label = &found->second;
  }
  return label;
}

TimelineComm to_timeline(const KinetoComm& comm) {
  return {.name = comm.name,
          .group_size = comm.group_size,
          .peer = is_message(comm_kind(comm.name)) ? comm.rank : -1,
          .in_elements = comm.in_elements,
          .out_elements = comm.out_elements,
          .item_bytes = dtype_bytes(comm.dtype),
          .in_split = comm.in_split,
          .out_split = comm.out_split,
          .comms_id = comm.comms_id};
}

// members_of returns the ranks of a communication's group; none where it isn't known.
std::vector<std::int64_t> members_of(const KinetoRank& rank, const KinetoComm& comm) {
  if (!comm.members.empty()) return comm.members;
  auto known = rank.groups.find(comm.group);
  if (known != rank.groups.end() && !known->second.empty()) return known->second;
  bool is_whole = known != rank.groups.end() || comm.group_size == rank.world_size;
  if (!is_whole) return {};
  std::vector<std::int64_t> all(std::size_t(rank.world_size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::optional<std::uint32_t> group_of(KinetoRank& rank, const KinetoComm& comm) {
  if (comm.group.empty()) return std::nullopt;
  for (std::uint32_t i = 0; i < rank.own_groups.size(); ++i)
    if (rank.own_groups[i].name == comm.group) return i;
  std::vector<std::int64_t> members = members_of(rank, comm);
  if (members.empty()) return std::nullopt;
  rank.own_groups.push_back({comm.group, std::move(members)});
  return std::uint32_t(rank.own_groups.size() - 1);
}

// call_of returns the host's call that launched a span of the device.
std::uint32_t call_of(const KinetoRank& rank, std::uint32_t span) {
  auto correlation = rank.correlations.find(span);
  if (correlation == rank.correlations.end()) return none;
  auto call = rank.calls.find(correlation->second);
  return call == rank.calls.end() ? none : call->second;
}

void add_comm(KinetoRank& rank, const std::vector<std::uint32_t>& parents, std::uint32_t index,
              std::uint32_t call) {
  const KinetoComm* recorded = nullptr;
  auto own = rank.comms.find(index);
  if (own != rank.comms.end())
    recorded = &own->second;
  else if (call != none)
    recorded = comm_around(rank, parents, call);
  RankTimeline& timeline = rank.timeline;
  TimelineComm comm = recorded ? to_timeline(*recorded) : TimelineComm();
  if (recorded) comm.group = group_of(rank, *recorded);
  bool is_on_host = !timeline.tracks[timeline.spans[index].track].is_device;
  if (is_on_host && !comm.group && rank.groups.size() == 1)
    comm.group = group_of(rank, {.group = rank.groups.begin()->first});
  if (call != none) comm.issued_us = timeline.spans[call].begin_us;
  comm.span = index;
  timeline.spans[index].bytes = std::max(comm.in_elements, comm.out_elements) * comm.item_bytes;
  timeline.spans[index].comm = std::uint32_t(timeline.comms.size());
  timeline.comms.push_back(std::move(comm));
}

}  // namespace

void link_launches(KinetoRank& rank) {
  RankTimeline& timeline = rank.timeline;
  std::vector<std::uint32_t> parents = parents_of(timeline);
  for (std::uint32_t index = 0; index < timeline.spans.size(); ++index) {
    TimelineSpan& span = timeline.spans[index];
    if (!timeline.tracks[span.track].is_device) {
      if (span.kind == SpanKind::communication) add_comm(rank, parents, index, none);
      continue;
    }
    std::uint32_t call = call_of(rank, index);
    if (call != none) {
      std::uint32_t around = parents[call];
      while (around != none && timeline.spans[around].kind != SpanKind::host)
        around = parents[around];
      span.launched_by = around != none ? around : call;
    }
    if (span.kind == SpanKind::communication && is_collective_kernel(timeline.text(span.name)))
      add_comm(rank, parents, index, call);
  }
}

}  // namespace simmesh::replay
