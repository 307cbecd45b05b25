#include "replay/job/rank_copy.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "replay/job/missing_splits.h"
#include "replay/job/recorded_rank.h"
#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view in_rank_copy = "replay/missing_ranks";

// RankCopy makes one trace from another.
class RankCopy {
 public:
  RankCopy(const TraceJob& job, const JobGroups& groups, std::size_t position, std::int64_t rank)
      : groups_(groups),
        splits_(job, groups),
        position_(position),
        from_(groups.ranks[position]),
        to_(rank),
        made_(job.ranks[position]) {}

  RankTrace make() {
    require_symmetrical_messages();
    made_.rank = to_;
    rename_devices();
    shift_records();
    for (const JobComm& comm : groups_.comms[position_]) shift(comm);
    return std::move(made_);
  }

 private:
  ExecutionTrace& trace() { return made_.trace; }
  TraceComm& comm_of(const JobComm& comm) { return trace().comms[*trace().nodes[comm.node].comm]; }

  void rename_devices() {
    std::map<TextId, TextId> names;
    for (TraceTensor& tensor : trace().tensors) {
      auto [name, is_new] = names.emplace(tensor.device, tensor.device);
      if (is_new) {
        std::string_view device = trace().text(tensor.device);
        std::string own = fmt::format(":{}", from_);
        if (device.ends_with(own)) {
          device.remove_suffix(own.size());
          name->second = trace().texts.id_of(fmt::format("{}:{}", device, to_));
        }
      }
      tensor.device = name->second;
    }
  }

  void shift_records() {
    for (ProcessGroupRecord& record : trace().process_groups) {
      bool is_own =
          std::find(record.ranks.begin(), record.ranks.end(), from_) != record.ranks.end();
      if (is_own) record.ranks = shifted_members(record.ranks, from_, to_, groups_.world_size);
    }
  }

  // The places of both ranks in their groups, and the new group.
  struct Shift {
    JobGroup group;
    std::int64_t from = 0;
    std::int64_t to = 0;
  };

  const Shift& shift_of(std::uint32_t group) {
    auto known = shifts_.find(group);
    if (known != shifts_.end()) return known->second;
    const JobGroup& old = groups_.groups[group];
    Shift shift{.group = {.members = shifted_members(old.members, from_, to_, groups_.world_size),
                          .number = old.number}};
    shift.from = old.index_of(from_).value_or(0);
    shift.to = shift.group.index_of(to_).value_or(0);
    return shifts_.emplace(group, std::move(shift)).first->second;
  }

  void shift(const JobComm& each) {
    TraceComm& comm = comm_of(each);
    CommKind kind = comm_kind(trace().text(comm.name));
    if (!each.group) {
      // Waits for communications that began before the trace name the rank within the default
      // group.
      if (rank_field(kind) == RankField::own_rank && comm.rank == from_) comm.rank = to_;
      return;
    }
    const Shift& shift = shift_of(*each.group);
    auto size = std::int64_t(shift.group.members.size());
    RankField field = rank_field(kind);
    if (field == RankField::own_rank && comm.rank == shift.from) comm.rank = shift.to;
    if (field == RankField::peer && comm.rank >= 0)
      comm.rank = (comm.rank - shift.from + shift.to + size) % size;
    if (comm.global_rank_start >= 0) {
      comm.global_rank_start = shift.group.members[0];
      set_attribute(comm, "global_rank_start", comm.global_rank_start);
    }
    if (size == 1 || field == RankField::peer) return;
    if (kind == CommKind::gather || kind == CommKind::scatter)
      refuse(each, "differs between the root and the others");
    if (shift.from != shift.to) require_even_lists(each, kind, shift);
    shift_splits(each, comm, kind);
  }

  void require_even_lists(const JobComm& each, CommKind kind, const Shift& shift) {
    const TraceNode& node = trace().nodes[each.node];
    for (TraceRange side : {node.inputs, node.outputs}) {
      gsl::span<const TraceTensor> tensors = trace().tensors_in(side);
      bool is_list = kind == CommKind::all_gather || kind == CommKind::reduce_scatter ||
                     kind == CommKind::all_to_all;
      if (!is_list || tensors.size() != shift.group.members.size()) continue;
      std::int64_t from = tensors[std::size_t(shift.from)].elements;
      std::int64_t to = tensors[std::size_t(shift.to)].elements;
      if (from != to)
        refuse(each, fmt::format("has tensors of {} elements for one of both ranks and {} for the "
                                 "other",
                                 from, to));
    }
  }

  void shift_splits(const JobComm& each, TraceComm& comm, CommKind kind) {
    if (kind != CommKind::all_to_all && kind != CommKind::all_to_allv) return;
    ExchangeSplits own = splits_of(trace(), comm);
    if (own.are_even()) return;
    std::string fault;
    auto splits =
        splits_.find({.position = position_, .group = *each.group, .node = each.node}, to_, fault);
    if (!splits) refuse(each, fault);
    comm.in_split = add_numbers(splits->in);
    comm.out_split = add_numbers(splits->out);
    set_attribute(comm, "in_split_size", fmt::format("[{}]", join_text(splits->in, ", ")));
    set_attribute(comm, "out_split_size", fmt::format("[{}]", join_text(splits->out, ", ")));
  }

  TraceRange add_numbers(const std::vector<std::int64_t>& list) {
    std::vector<std::int64_t>& numbers = trace().numbers;
    TraceRange range{.begin = std::uint32_t(numbers.size())};
    numbers.insert(numbers.end(), list.begin(), list.end());
    range.end = std::uint32_t(numbers.size());
    return range;
  }

  void set_attribute(const TraceComm& comm, std::string_view name,
                     const std::variant<std::int64_t, std::string>& value) {
    for (std::uint32_t i = comm.attributes.begin; i < comm.attributes.end; ++i) {
      TraceAttribute& attribute = trace().attributes[i];
      if (trace().text(attribute.name) != name) continue;
      if (const auto* number = std::get_if<std::int64_t>(&value))
        attribute.value = *number;
      else
        attribute.value = trace().texts.id_of(std::get<std::string>(value));
    }
  }

  // All ranks do the same; so a rank gets from the d-th rank before it what it sends to the d-th
  // after it.
  void require_symmetrical_messages() {
    using Message = std::tuple<std::int64_t, TextId>;
    using Key = std::pair<std::uint32_t, std::int64_t>;
    std::map<Key, std::vector<Message>> sends, receives;
    const JobComm* last = nullptr;
    for (const JobComm& each : groups_.comms[position_]) {
      const TraceComm& comm = comm_of(each);
      CommKind kind = comm_kind(trace().text(comm.name));
      if (!each.group || !is_message(kind)) continue;
      last = &each;
      const JobGroup& group = groups_.groups[*each.group];
      auto size = std::int64_t(group.members.size());
      if (comm.rank < 0 || comm.rank >= size) refuse(each, "names no other rank");
      std::int64_t distance = (comm.rank - group.index_of(from_).value_or(0) + size) % size;
      if (kind == CommKind::send)
        sends[{*each.group, distance}].push_back({comm.in_elements, comm.dtype});
      else
        receives[{*each.group, (size - distance) % size}].push_back(
            {comm.out_elements, comm.dtype});
    }
    if (sends != receives)
      refuse(*last,
             "is one of messages that don't form a ring: what the rank sends to others isn't "
             "what it receives the other way round");
  }

  [[noreturn]] void refuse(const JobComm& each, std::string_view fault) {
    const TraceNode& node = trace().nodes[each.node];
    raise(ErrorKind::value_error, in_rank_copy,
          "rank {} can't be synthesised from rank {}: the {} at node {} {}", to_, from_,
          trace().text(trace().comm_of(node)->name), node.id, fault);
  }

  const JobGroups& groups_;
  MissingSplits splits_;
  std::size_t position_;
  std::int64_t from_;
  std::int64_t to_;
  RankTrace made_;
  std::map<std::uint32_t, Shift> shifts_;
};

}  // namespace

std::vector<std::int64_t> shifted_members(const std::vector<std::int64_t>& members,
                                          std::int64_t from, std::int64_t to,
                                          std::int64_t world_size) {
  if (std::find(members.begin(), members.end(), to) != members.end()) return members;
  auto size = std::int64_t(members.size());
  std::int64_t stride = size > 1 ? members[1] - members[0] : 1;
  bool is_even = stride > 0;
  for (std::int64_t i = 0; i < size; ++i)
    is_even = is_even && members[std::size_t(i)] == members[0] + i * stride;
  std::int64_t block = stride * size;
  auto start_of = [&](std::int64_t rank) { return rank / block * block + rank % stride; };
  if (!is_even || world_size % block != 0 || start_of(from) != members[0])
    raise(ErrorKind::value_error, in_rank_copy,
          "rank {} can't be synthesised from rank {}: groups like [{}] don't cut {} ranks evenly",
          to, from, join_text(members, ", "), world_size);
  std::vector<std::int64_t> shifted;
  for (std::int64_t i = 0; i < size; ++i) shifted.push_back(start_of(to) + i * stride);
  return shifted;
}

RankTrace copy_rank(const TraceJob& job, const JobGroups& groups, std::size_t position,
                    std::int64_t rank) {
  return RankCopy(job, groups, position, rank).make();
}

}  // namespace simmesh::replay
