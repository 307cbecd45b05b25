#include "replay/analysis/bandwidth.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "replay/analysis/exposed.h"
#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

namespace {

bool is_all_to_all(CommKind kind) {
  return kind == CommKind::all_to_all || kind == CommKind::all_to_allv;
}

// own_index returns the index of a rank in the group of its communication.
std::int64_t own_index(const JobTimeline& job, const RankTimeline& rank, const TimelineComm& comm) {
  if (!comm.group) return rank.rank;
  const std::vector<std::int64_t>& members = job.groups[*comm.group].members;
  return std::find(members.begin(), members.end(), rank.rank) - members.begin();
}

// to_others returns how many elements don't stay on their own rank.
double to_others(std::int64_t elements, const std::vector<std::int64_t>& split, std::int64_t own,
                 std::int64_t group_size) {
  if (split.empty()) return double(elements) / double(group_size) * double(group_size - 1);
  std::int64_t kept = own < std::int64_t(split.size()) ? split[std::size_t(own)] : 0;
  return double(elements - kept);
}

double gigabytes_per_second(double bytes, double length_us) {
  return length_us > 0 ? bytes / length_us / 1000 : 0;
}

std::optional<CommBandwidth> bandwidth_of(const JobTimeline& job, const RankTimeline& rank,
                                          std::uint32_t index, std::optional<double> shortest_us) {
  const TimelineComm& comm = rank.comms[index];
  std::optional<double> factor = bus_factor(comm.name, comm.group_size);
  if (!factor || comm.item_bytes <= 0) return std::nullopt;
  CommBandwidth one{.comm = index,
                    .name = comm.name,
                    .bytes = std::max(comm.in_elements, comm.out_elements) * comm.item_bytes,
                    .length_us = rank.span_of(comm).length_us()};
  one.algbw = rounded(gigabytes_per_second(double(one.bytes), one.length_us), 2);
  one.moved = double(one.bytes) * *factor;
  one.busbw = rounded(one.algbw * *factor, 2);
  bool has_splits = !comm.in_split.empty() || !comm.out_split.empty();
  if (has_splits && is_all_to_all(comm_kind(comm.name))) {
    std::int64_t own = own_index(job, rank, comm);
    one.moved = std::max(to_others(comm.in_elements, comm.in_split, own, comm.group_size),
                         to_others(comm.out_elements, comm.out_split, own, comm.group_size)) *
                double(comm.item_bytes);
    one.busbw = rounded(gigabytes_per_second(one.moved, one.length_us), 2);
  }
  if (shortest_us) one.effective = gigabytes_per_second(one.moved, *shortest_us);
  return one;
}

// shortest_lengths returns the shortest length of the collective that each communication is part
// of, where all parts are there.
std::vector<std::vector<std::optional<double>>> shortest_lengths(
    const JobTimeline& job, const std::vector<JobCollective>& collectives) {
  std::vector<std::vector<std::optional<double>>> shortest;
  for (const RankTimeline& rank : job.ranks) shortest.emplace_back(rank.comms.size());
  for (const JobCollective& collective : collectives) {
    if (!collective.is_complete()) continue;
    double length = span_of(job, collective.parts.front()).length_us();
    for (const CommPart& part : collective.parts)
      length = std::min(length, span_of(job, part).length_us());
    for (const CommPart& part : collective.parts) shortest[part.rank][part.comm] = length;
  }
  return shortest;
}

}  // namespace

std::optional<double> bus_factor(std::string_view name, std::int64_t group_size) {
  if (group_size <= 0) return std::nullopt;
  double n = double(group_size);
  switch (comm_kind(name)) {
    case CommKind::all_reduce:
    case CommKind::all_reduce_coalesced: return 2 * (n - 1) / n;
    case CommKind::all_gather:
    case CommKind::all_gather_base:
    case CommKind::all_gather_coalesced:
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_base:
    case CommKind::reduce_scatter_coalesced:
    case CommKind::all_to_all:
    case CommKind::all_to_allv:
    case CommKind::gather:
    case CommKind::scatter: return (n - 1) / n;
    case CommKind::broadcast:
    case CommKind::reduce:
    case CommKind::send:
    case CommKind::recv: return 1;
    default: return std::nullopt;
  }
}

double rounded(double figure, int decimals) {
  return std::strtod(fmt::format("{:.{}f}", figure, decimals).c_str(), nullptr);
}

std::vector<RankBandwidth> bandwidth_of(const JobTimeline& job,
                                        const std::vector<JobCollective>& collectives) {
  std::vector<std::vector<std::optional<double>>> shortest = shortest_lengths(job, collectives);
  std::vector<RankBandwidth> ranks;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const RankTimeline& rank = job.ranks[r];
    RankBandwidth bandwidth;
    double moved = 0;
    for (std::uint32_t c = 0; c < rank.comms.size(); ++c) {
      std::optional<CommBandwidth> one = bandwidth_of(job, rank, c, shortest[r][c]);
      if (!one) continue;
      moved += one->moved;
      bandwidth.comms.push_back(std::move(*one));
    }
    bandwidth.shared = gigabytes_per_second(moved, busy_of(rank).comm_us);
    ranks.push_back(std::move(bandwidth));
  }
  return ranks;
}

}  // namespace simmesh::replay
