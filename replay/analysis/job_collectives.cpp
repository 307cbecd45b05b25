#include "replay/analysis/job_collectives.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "replay/analysis/align_comms.h"
#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

namespace {

// SequenceKey is equal for communications that are compared by their order.
struct SequenceKey {
  std::int64_t group = -1;
  std::int64_t sender = -1;  // of a message
  std::int64_t receiver = -1;
  std::int64_t alone = -1;  // the rank, where nothing tells who else takes part

  auto operator<=>(const SequenceKey&) const = default;
};

// Sequence is the communications of one key, by rank and in order.
using Sequence = std::map<std::uint32_t, std::vector<std::uint32_t>>;

std::int64_t place_in_group(const TimelineGroup& group, std::int64_t rank) {
  auto found = std::find(group.members.begin(), group.members.end(), rank);
  return found == group.members.end() ? -1 : found - group.members.begin();
}

SequenceKey key_of(const JobTimeline& job, const RankTimeline& rank, const TimelineComm& comm) {
  SequenceKey key;
  if (!comm.group) {
    if (comm.group_size > 0 && comm.group_size != job.world_size) key.alone = rank.rank;
    return key;
  }
  key.group = std::int64_t(*comm.group);
  CommKind kind = comm_kind(comm.name);
  if (!is_message(kind)) return key;
  std::int64_t own = place_in_group(job.groups[*comm.group], rank.rank);
  key.sender = kind == CommKind::send ? own : comm.peer;
  key.receiver = kind == CommKind::send ? comm.peer : own;
  return key;
}

// Returns how many ranks take part. In a job with one timeline that names no group nobody knows.
std::int64_t members_of(const JobTimeline& job, const SequenceKey& key, const TimelineComm& comm) {
  if (is_message(comm_kind(comm.name))) return key.sender == key.receiver ? 1 : 2;
  if (comm.group) return std::int64_t(job.groups[*comm.group].members.size());
  if (comm.group_size > 0) return comm.group_size;
  return job.world_size > 1 ? job.world_size : 0;
}

// The kind of a communication; of one without a name that in its kernel's name, which is the second
// word of "ncclKernel_AllReduce_RING_LL_Sum_float".
CommKind kind_of_part(const JobTimeline& job, const CommPart& part) {
  const TimelineComm& comm = comm_of(job, part);
  if (!comm.name.empty()) return comm_kind(comm.name);
  std::string_view kernel = kernel_name(job, part);
  kernel.remove_prefix(std::min(kernel.find('_') + 1, kernel.size()));
  return comm_kind(kernel.substr(0, kernel.find('_')));
}

bool leaves_together(CommKind kind, const TimelineComm& comm) {
  auto sends_nothing = [](const std::vector<std::int64_t>& split) {
    return std::find(split.begin(), split.end(), 0) != split.end();
  };
  switch (kind) {
    case CommKind::all_reduce:
    case CommKind::all_reduce_coalesced:
    case CommKind::all_gather:
    case CommKind::all_gather_base:
    case CommKind::all_gather_coalesced:
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_base:
    case CommKind::reduce_scatter_coalesced:
    case CommKind::barrier: return true;
    case CommKind::all_to_all:
    case CommKind::all_to_allv:
      return !sends_nothing(comm.in_split) && !sends_nothing(comm.out_split);
    default: return false;
  }
}

// Labels numbers the kinds and bytes of communications. Both sides of a message count as one kind.
class Labels {
 public:
  explicit Labels(const JobTimeline& job) : job_(job) {}

  CommMark mark(const CommPart& part) {
    const TimelineComm& comm = comm_of(job_, part);
    CommKind kind = kind_of_part(job_, part);
    std::string name(kind == CommKind::unknown ? comm_name(job_, part) : to_string(kind));
    if (is_message(kind)) name = "message";
    auto label = numbers_.emplace(std::pair(std::move(name), compared_bytes(comm)),
                                  std::uint32_t(numbers_.size()));
    const TimelineSpan& span = span_of(job_, part);
    return {label.first->second, leaves_together(kind, comm), span.begin_us, span.end_us};
  }

 private:
  const JobTimeline& job_;
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> numbers_;
};

// Column is a collective whose parts are being found; its mark has the moments that all parts so
// far have in common, as long as there are any.
struct Column {
  JobCollective collective;
  CommMark mark;
};

void add_part(Column& column, const CommPart& part, const CommMark& mark) {
  column.collective.parts.push_back(part);
  if (!overlaps(column.mark, mark)) return;
  column.mark.begin_us = std::max(column.mark.begin_us, mark.begin_us);
  column.mark.end_us = std::min(column.mark.end_us, mark.end_us);
}

// Adds the communications of one more rank; those without a counterpart become columns of their
// own, after those that this rank lacks.
void add_rank(std::vector<Column>& columns, std::uint32_t rank,
              const std::vector<std::uint32_t>& comms, Labels& labels) {
  std::vector<CommMark> known, own;
  for (const Column& column : columns) known.push_back(column.mark);
  for (std::uint32_t comm : comms) own.push_back(labels.mark({rank, comm}));
  std::vector<std::optional<std::uint32_t>> counterparts = align_comms(known, own);
  std::vector<Column> joined, alone;
  std::size_t next = 0;
  auto take_up_to = [&](std::size_t end) {
    while (next < end) joined.push_back(std::move(columns[next++]));
    for (Column& column : alone) joined.push_back(std::move(column));
    alone.clear();
  };
  for (std::size_t i = 0; i < own.size(); ++i) {
    CommPart part{rank, comms[i]};
    if (!counterparts[i]) {
      alone.push_back({.collective = {.parts = {part}}, .mark = own[i]});
      continue;
    }
    take_up_to(*counterparts[i]);
    joined.push_back(std::move(columns[next++]));
    add_part(joined.back(), part, own[i]);
  }
  take_up_to(columns.size());
  columns = std::move(joined);
}

bool have_ids(const JobTimeline& job, const Sequence& sequence) {
  for (const auto& [rank, comms] : sequence)
    for (std::uint32_t comm : comms)
      if (job.ranks[rank].comms[comm].comms_id.empty()) return false;
  return true;
}

std::vector<Column> by_id(const JobTimeline& job, const Sequence& sequence) {
  std::vector<Column> columns;
  std::map<std::pair<std::string, std::size_t>, std::size_t> known;
  for (const auto& [rank, comms] : sequence) {
    std::map<std::string, std::size_t> times;
    for (std::uint32_t comm : comms) {
      const std::string& id = job.ranks[rank].comms[comm].comms_id;
      auto [found, is_new] = known.emplace(std::pair(id, times[id]++), columns.size());
      if (is_new) columns.emplace_back();
      columns[found->second].collective.parts.push_back({rank, comm});
    }
  }
  return columns;
}

std::vector<Column> columns_of(const JobTimeline& job, const Sequence& sequence) {
  if (have_ids(job, sequence)) return by_id(job, sequence);
  std::vector<Column> columns;
  Labels labels(job);
  for (const auto& [rank, comms] : sequence) add_rank(columns, rank, comms, labels);
  return columns;
}

}  // namespace

std::vector<JobCollective> job_collectives(const JobTimeline& job) {
  std::map<SequenceKey, Sequence> sequences;
  for (std::uint32_t r = 0; r < job.ranks.size(); ++r)
    for (std::uint32_t c = 0; c < job.ranks[r].comms.size(); ++c)
      sequences[key_of(job, job.ranks[r], job.ranks[r].comms[c])][r].push_back(c);
  std::vector<JobCollective> collectives;
  std::uint32_t number = 0;
  for (const auto& [key, sequence] : sequences) {
    std::uint32_t place = 0;
    for (Column& column : columns_of(job, sequence)) {
      JobCollective& collective = column.collective;
      collective.sequence = number;
      collective.place = place++;
      collective.members = members_of(job, key, comm_of(job, collective.parts.front()));
      collectives.push_back(std::move(collective));
    }
    ++number;
  }
  std::sort(collectives.begin(), collectives.end(),
            [](const JobCollective& a, const JobCollective& b) {
              const CommPart &x = a.parts.front(), &y = b.parts.front();
              return std::pair(x.rank, x.comm) < std::pair(y.rank, y.comm);
            });
  return collectives;
}

const TimelineComm& comm_of(const JobTimeline& job, const CommPart& part) {
  return job.ranks[part.rank].comms[part.comm];
}

const TimelineSpan& span_of(const JobTimeline& job, const CommPart& part) {
  return job.ranks[part.rank].span_of(comm_of(job, part));
}

bool times_overlap(const JobTimeline& job, const JobCollective& collective) {
  double last_begin = span_of(job, collective.parts.front()).begin_us;
  double first_end = span_of(job, collective.parts.front()).end_us;
  for (const CommPart& part : collective.parts) {
    if (!leaves_together(kind_of_part(job, part), comm_of(job, part))) return true;
    last_begin = std::max(last_begin, span_of(job, part).begin_us);
    first_end = std::min(first_end, span_of(job, part).end_us);
  }
  return last_begin <= first_end;
}

std::optional<CommPart> last_part(const JobTimeline& job, const JobCollective& collective) {
  if (!collective.is_complete() || !times_overlap(job, collective)) return std::nullopt;
  return *std::max_element(collective.parts.begin(), collective.parts.end(),
                           [&](const CommPart& a, const CommPart& b) {
                             return span_of(job, a).begin_us < span_of(job, b).begin_us;
                           });
}

std::int64_t compared_bytes(const TimelineComm& comm) {
  std::int64_t item = std::max<std::int64_t>(comm.item_bytes, 1);
  std::int64_t larger = std::max(comm.in_elements, comm.out_elements);
  switch (comm_kind(comm.name)) {
    case CommKind::all_gather:
    case CommKind::all_gather_base:
    case CommKind::all_gather_coalesced:
    case CommKind::scatter:
      return (comm.out_elements > 0 ? comm.out_elements : comm.in_elements) * item;
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_base:
    case CommKind::reduce_scatter_coalesced:
    case CommKind::reduce:
    case CommKind::gather:
      return (comm.in_elements > 0 ? comm.in_elements : comm.out_elements) * item;
    case CommKind::all_to_all:
    case CommKind::all_to_allv:
      return comm.in_split.empty() && comm.out_split.empty() &&
                     comm.in_elements == comm.out_elements
                 ? larger * item
                 : 0;
    default: return larger * item;
  }
}

std::string_view kernel_name(const JobTimeline& job, const CommPart& part) {
  std::string_view name = job.ranks[part.rank].text(span_of(job, part).name);
  return name.substr(0, name.find('('));
}

std::string_view comm_name(const JobTimeline& job, const CommPart& part) {
  const TimelineComm& comm = comm_of(job, part);
  return comm.name.empty() ? kernel_name(job, part) : std::string_view(comm.name);
}

}  // namespace simmesh::replay
