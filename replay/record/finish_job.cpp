#include "replay/record/finish_job.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "replay/read/node_arguments.h"
#include "replay/record/json_words.h"

namespace simmesh::replay {

namespace {

// GroupNames are the groups of a job, each with the same name on all ranks: its number.
class GroupNames {
 public:
  explicit GroupNames(std::int64_t world_size) { add({RankList::range(world_size), "world"}); }

  std::uint32_t add(const RecordedGroup& group) {
    std::vector<std::uint32_t>& alike = by_members_[group.members.hash()];
    for (std::uint32_t index : alike)
      if (groups_[index] == group) return index;
    alike.push_back(std::uint32_t(groups_.size()));
    groups_.push_back(group);
    return alike.back();
  }

  std::size_t size() const { return groups_.size(); }
  const RecordedGroup& operator[](std::uint32_t index) const { return groups_[index]; }
  std::string description(std::uint32_t index) const {
    return index == 0 ? "default_pg" : groups_[index].label;
  }

 private:
  std::vector<RecordedGroup> groups_;
  std::map<std::size_t, std::vector<std::uint32_t>> by_members_;
};

// Data of one collective from each member: the elements that it sends in an all_to_all, or the size
// of its own part.
using SplitTable = std::map<std::pair<std::uint32_t, std::int64_t>,
                            std::map<std::int64_t, std::vector<std::int64_t>>>;

// JobFinisher has the knowledge of all ranks together.
class JobFinisher {
 public:
  explicit JobFinisher(std::vector<RecordedRank>& ranks)
      : ranks_(ranks), names_(std::int64_t(ranks.size())) {
    for (RecordedRank& rank : ranks) {
      std::vector<std::uint32_t>& own = numbers_.emplace_back();
      for (const RecordedGroup& group : rank.groups) own.push_back(names_.add(group));
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) note_sizes(rank);
  }

  void finish(std::size_t rank) {
    RecordedRank& recorded = ranks_[rank];
    last_id_ = recorded.trace.nodes.back().id;
    for (const TraceTensor& tensor : recorded.trace.tensors)
      last_id_ = std::max({last_id_, tensor.tensor, tensor.storage});
    for (std::size_t i = 0; i < recorded.comms.size(); ++i) finish_comm(rank, i);
    set_groups(rank);
  }

 private:
  std::uint32_t group_of(std::size_t rank, std::size_t comm) const {
    return numbers_[rank][ranks_[rank].comms[comm].group];
  }
  std::int64_t request_of(std::size_t rank, std::size_t comm) const {
    return ranks_[rank].trace.comms[comm].request.sequence;
  }
  void note_sizes(std::size_t rank);
  void set_parts(std::size_t rank, std::size_t comm);
  void set_out_split(std::size_t rank, std::size_t comm);
  void finish_comm(std::size_t rank, std::size_t comm);
  void set_group(std::size_t rank, std::size_t comm);
  void set_attributes(RecordedRank& recorded, std::size_t comm);
  void set_groups(std::size_t rank);

  std::vector<RecordedRank>& ranks_;
  GroupNames names_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by rank, then by its own number of the group
  SplitTable splits_;
  std::int64_t last_id_ = 0;  // of a node, tensor or storage of the rank
};

// The tensor that an operation on uneven parts gathers or cuts, and the rank's own part of it.
struct WholeAndPart {
  TraceRange& whole;
  const TraceRange& part;
};
WholeAndPart whole_and_part(TraceNode& node, const RecordedComm& comm) {
  if (comm.reduce) return {node.inputs, node.outputs};
  return {node.outputs, node.inputs};
}

void JobFinisher::note_sizes(std::size_t rank) {
  RecordedRank& recorded = ranks_[rank];
  for (std::size_t i = 0; i < recorded.comms.size(); ++i) {
    const RecordedComm& own = recorded.comms[i];
    if (!own.lacks_out_split && !own.has_uneven_parts) continue;
    const TraceComm& comm = recorded.trace.comms[i];
    auto& sizes = splits_[{group_of(rank, i), comm.request.sequence}][comm.rank];
    if (own.has_uneven_parts) {
      TraceRange part = whole_and_part(recorded.trace.nodes[own.node], own).part;
      if (part.size() == 1) sizes = {recorded.trace.tensors_in(part)[0].elements};
      continue;
    }
    auto split = recorded.trace.numbers_in(comm.in_split);
    sizes = {split.begin(), split.end()};
  }
}

// The parts follow one after another, as in the buffer of a real collective.
void JobFinisher::set_parts(std::size_t rank, std::size_t index) {
  RecordedRank& recorded = ranks_[rank];
  ExecutionTrace& trace = recorded.trace;
  const RecordedComm& own = recorded.comms[index];
  TraceRange& whole = whole_and_part(trace.nodes[own.node], own).whole;
  if (whole.size() != 1) return;
  TraceTensor next = trace.tensors_in(whole)[0];
  TraceRange parts{.begin = std::uint32_t(trace.tensors.size())};
  for (const auto& [member, size] : splits_[{group_of(rank, index), request_of(rank, index)}]) {
    if (size.size() != 1) return;
    next.tensor = ++last_id_;
    next.elements = size[0];
    next.shape = {std::uint32_t(trace.numbers.size()), std::uint32_t(trace.numbers.size() + 1)};
    next.strides = {next.shape.begin + 1, next.shape.end + 1};
    trace.numbers.insert(trace.numbers.end(), {next.elements, 1});
    trace.tensors.push_back(next);
    next.offset += next.elements;
  }
  parts.end = std::uint32_t(trace.tensors.size());
  if (parts.size() == names_[group_of(rank, index)].members.size()) whole = parts;
}

void JobFinisher::set_out_split(std::size_t rank, std::size_t index) {
  ExecutionTrace& trace = ranks_[rank].trace;
  TraceComm& comm = trace.comms[index];
  comm.out_split = {.begin = std::uint32_t(trace.numbers.size())};
  // A member that failed before it came has sent nothing.
  const auto& sent = splits_[{group_of(rank, index), request_of(rank, index)}];
  for (std::int64_t member = 0; member < names_[group_of(rank, index)].members.size(); ++member) {
    auto from = sent.find(member);
    trace.numbers.push_back(from == sent.end() ? 0 : from->second[std::size_t(comm.rank)]);
  }
  comm.out_split.end = std::uint32_t(trace.numbers.size());
}

// Returns the stride as c10d does: 0 for one rank, -1 where the ranks have none.
std::int64_t stride_of(const RankList& members) {
  if (members.size() == 1) return 0;
  std::int64_t stride = members[1] - members[0];
  for (std::int64_t i = 2; i < members.size(); ++i)
    if (members[i] - members[i - 1] != stride) return -1;
  return stride;
}

void JobFinisher::set_group(std::size_t rank, std::size_t index) {
  ExecutionTrace& trace = ranks_[rank].trace;
  TraceComm& comm = trace.comms[index];
  std::uint32_t group = group_of(rank, index);
  comm.group.name_and_description = {trace.texts.id_of(std::to_string(group)),
                                     trace.texts.id_of(names_.description(group))};
  if (trace.text(comm.name) == "wait") {
    comm.group_size = 1;
    return;
  }
  comm.global_rank_start = names_[group].members[0];
  comm.global_rank_stride = stride_of(names_[group].members);
  comm.group_size = names_[group].members.size();
}

void JobFinisher::finish_comm(std::size_t rank, std::size_t index) {
  RecordedRank& recorded = ranks_[rank];
  ExecutionTrace& trace = recorded.trace;
  set_group(rank, index);
  if (recorded.comms[index].lacks_out_split) set_out_split(rank, index);
  if (recorded.comms[index].has_uneven_parts) set_parts(rank, index);
  TraceComm& comm = trace.comms[index];
  const TraceNode& node = trace.nodes[recorded.comms[index].node];
  auto take = [&](TraceRange range, std::int64_t& elements) {
    for (const TraceTensor& tensor : trace.tensors_in(range)) {
      elements += tensor.elements;
      if (comm.dtype == TextId{}) comm.dtype = trace.texts.id_of(c10_type(trace.text(tensor.type)));
    }
  };
  take(node.inputs, comm.in_elements);
  take(node.outputs, comm.out_elements);
  set_attributes(recorded, index);
}

void JobFinisher::set_attributes(RecordedRank& recorded, std::size_t index) {
  ExecutionTrace& trace = recorded.trace;
  TraceComm& comm = trace.comms[index];
  comm.attributes.begin = std::uint32_t(trace.attributes.size());
  auto number = [&](std::string_view name, std::int64_t value) {
    trace.attributes.push_back({.name = trace.texts.id_of(name), .value = value});
  };
  auto text = [&](std::string_view name, std::string_view value) {
    trace.attributes.push_back(
        {.name = trace.texts.id_of(name), .value = trace.texts.id_of(value)});
  };
  text("collective_name", trace.text(comm.name));
  text("dtype", comm.has_tensors() ? trace.text(comm.dtype) : "Byte");
  number("in_msg_nelems", comm.in_elements);
  number("out_msg_nelems", comm.out_elements);
  text("in_split_size", json_list(trace.numbers_in(comm.in_split)));
  text("out_split_size", json_list(trace.numbers_in(comm.out_split)));
  if (comm.global_rank_start >= 0) {
    number("global_rank_start", comm.global_rank_start);
    number("global_rank_stride", comm.global_rank_stride);
  }
  text("pg_name", trace.text(comm.group.name_and_description->first));
  text("pg_desc", trace.text(comm.group.name_and_description->second));
  number("pg_size", comm.group_size);
  number("is_asynchronized_op", comm.is_asynchronous.value_or(false));
  const RecordedComm& own = recorded.comms[index];
  if (own.reduce) text("reduce_op", to_string(*own.reduce));
  if (own.reduce == ReduceOp::premul_sum) text("reduce_factor", json_number(own.factor));
  if (own.dim != 0) number("dim", own.dim);
  if (own.scatter_dim != 0) number("scatter_dim", own.scatter_dim);
  if (own.tag) number("tag", *own.tag);
  comm.attributes.end = std::uint32_t(trace.attributes.size());
  trace.nodes[own.node].attributes = comm.attributes;
}

std::string to_json(const ProcessGroupRecord& group) {
  return fmt::format(
      R"({{"pg_name": {}, "pg_desc": {}, "backend_config": {}, "ranks": {}, "group_size": {}, )"
      R"("group_count": {}}})",
      json_text(group.name), json_text(group.description), json_text(group.backend),
      json_list(group.ranks), group.size, group.count);
}

void JobFinisher::set_groups(std::size_t rank) {
  ExecutionTrace& trace = ranks_[rank].trace;
  for (std::uint32_t i = 0; i < names_.size(); ++i) {
    const RankList& members = names_[i].members;
    if (!members.contains(std::int64_t(rank))) continue;
    bool is_world = members == names_[0].members;
    trace.process_groups.push_back(
        {.name = std::to_string(i),
         .description = names_.description(i),
         .has_description = true,
         .backend = "simmesh",
         .ranks = is_world ? std::vector<std::int64_t>() : members.to_vector(),
         .size = members.size(),
         .count = 0});
  }
  std::string text;
  for (ProcessGroupRecord& group : trace.process_groups) {
    group.count = std::int64_t(trace.process_groups.size());
    text += (text.empty() ? "" : ", ") + to_json(group);
  }
  trace.process_group_nodes = 1;
  TraceNode& node = *std::find_if(trace.nodes.begin(), trace.nodes.end(), [&](const TraceNode& n) {
    return trace.text(n.name) == "## process_group:init ##";
  });
  node.arguments.begin = std::uint32_t(trace.arguments.size());
  trace.arguments.push_back({.position = 0,
                             .type = trace.texts.id_of("String"),
                             .value = trace.texts.id_of(json_text("[" + text + "]"))});
  node.arguments.end = std::uint32_t(trace.arguments.size());
}

}  // namespace

TraceJob finish_job(std::vector<RecordedRank> ranks) {
  JobFinisher finisher(ranks);
  TraceJob job;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].trace.nodes.empty()) continue;
    finisher.finish(rank);
    job.ranks.push_back({.rank = std::int64_t(rank),
                         .file = fmt::format("rank-{}.json.gz", rank),
                         .trace = std::move(ranks[rank].trace)});
  }
  return job;
}

}  // namespace simmesh::replay
