#include "replay/job/missing_splits.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

namespace {

bool are_equal_rows(const std::vector<std::int64_t>& list) {
  return std::adjacent_find(list.begin(), list.end(), std::not_equal_to<>()) == list.end();
}

std::int64_t sum_of_rows(const std::vector<std::int64_t>& list) {
  return std::accumulate(list.begin(), list.end(), std::int64_t(0));
}

bool is_collective(const ExecutionTrace& trace, const TraceNode& node) {
  CommKind kind = comm_kind(trace.text(trace.comm_of(node)->name));
  return !is_message(kind) && kind != CommKind::wait && kind != CommKind::init;
}

std::optional<std::size_t> trace_position(const JobGroups& groups, std::int64_t rank) {
  auto place = std::find(groups.ranks.begin(), groups.ranks.end(), rank);
  if (place == groups.ranks.end()) return std::nullopt;
  return std::size_t(place - groups.ranks.begin());
}

}  // namespace

bool ExchangeSplits::are_even() const {
  if (in.empty() != out.empty()) return false;
  return are_equal_rows(in) && are_equal_rows(out) && (in.empty() || in[0] == out[0]);
}

ExchangeSplits splits_of(const ExecutionTrace& trace, const TraceComm& comm) {
  auto in = trace.numbers_in(comm.in_split), out = trace.numbers_in(comm.out_split);
  return {.in = {in.begin(), in.end()}, .out = {out.begin(), out.end()}};
}

const std::vector<std::uint32_t>& MissingSplits::collectives(std::size_t position,
                                                             std::uint32_t group) {
  auto [found, is_new] = collectives_.try_emplace({position, group});
  if (!is_new) return found->second;
  const ExecutionTrace& trace = job_.ranks[position].trace;
  for (const JobComm& comm : groups_.comms[position])
    if (comm.group == group && is_collective(trace, trace.nodes[comm.node]))
      found->second.push_back(comm.node);
  return found->second;
}

const TraceComm* MissingSplits::counterpart(std::int64_t rank, std::uint32_t group,
                                            std::size_t index) {
  auto position = trace_position(groups_, rank);
  if (!position) return nullptr;
  const std::vector<std::uint32_t>& nodes = collectives(*position, group);
  if (index >= nodes.size()) return nullptr;
  const ExecutionTrace& trace = job_.ranks[*position].trace;
  return trace.comm_of(trace.nodes[nodes[index]]);
}

std::optional<ExchangeSplits> MissingSplits::find(const Place& place, std::int64_t rank,
                                                  std::string& fault) {
  const ExecutionTrace& trace = job_.ranks[place.position].trace;
  const JobGroup& group = groups_.groups[place.group];
  auto own = group.index_of(rank);
  if (!own) {
    fault = "has uneven splits in a group that the rank isn't in";
    return std::nullopt;
  }
  const std::vector<std::uint32_t>& nodes = collectives(place.position, place.group);
  auto index =
      std::size_t(std::lower_bound(nodes.begin(), nodes.end(), place.node) - nodes.begin());
  std::size_t size = group.members.size();
  ExchangeSplits made{.in = std::vector<std::int64_t>(size),
                      .out = std::vector<std::int64_t>(size)};
  for (std::size_t i = 0; i < size; ++i) {
    if (std::int64_t(i) == *own) continue;
    auto position = trace_position(groups_, group.members[i]);
    const TraceComm* comm = counterpart(group.members[i], place.group, index);
    ExchangeSplits splits;
    if (comm != nullptr) splits = splits_of(job_.ranks[*position].trace, *comm);
    if (splits.in.size() != size || splits.out.size() != size) {
      fault = fmt::format("has uneven splits, and those of rank {} aren't there to transpose",
                          group.members[i]);
      return std::nullopt;
    }
    made.in[i] = splits.out[std::size_t(*own)];
    made.out[i] = splits.in[std::size_t(*own)];
  }
  ExchangeSplits like = splits_of(trace, *trace.comm_of(trace.nodes[place.node]));
  std::int64_t own_in = sum_of_rows(like.in) - sum_of_rows(made.in);
  std::int64_t own_out = sum_of_rows(like.out) - sum_of_rows(made.out);
  if (own_in != own_out || own_in < 0) {
    fault = fmt::format(
        "has uneven splits: the others take {} rows from it and give it {}, of tensors with {} and "
        "{} rows",
        sum_of_rows(made.in), sum_of_rows(made.out), sum_of_rows(like.in), sum_of_rows(like.out));
    return std::nullopt;
  }
  made.in[std::size_t(*own)] = made.out[std::size_t(*own)] = own_in;
  return made;
}

}  // namespace simmesh::replay
