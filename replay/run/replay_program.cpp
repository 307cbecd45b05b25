#include "replay/run/replay_program.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "core/check/error.h"
#include "mesh/rank_list.h"
#include "replay/run/element_type.h"
#include "replay/run/operator_work.h"
#include "replay/run/program_storages.h"
#include "replay/trace/replay_list.h"

namespace simmesh::replay {

namespace {

constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();

template <class T>
bool allows(const std::vector<T>& chosen, T value) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), value) != chosen.end();
}

// The communication that a wait names: a request, and the group where it is known. Requests sort
// before groups, so that those of one number are neighbours.
struct RequestKey {
  std::int64_t sequence = 0;
  int point_to_point = -1;  // -1 where it isn't recorded
  std::uint32_t group = no_group;

  static RequestKey of(const TraceRequest& request, std::uint32_t group) {
    return {request.sequence, request.is_point_to_point ? int(*request.is_point_to_point) : -1,
            group};
  }
  bool has_request_of(const RequestKey& other) const {
    return sequence == other.sequence && point_to_point == other.point_to_point;
  }
  auto operator<=>(const RequestKey&) const = default;
};

// RankProgramBuilder walks through the nodes of one rank.
class RankProgramBuilder {
 public:
  RankProgramBuilder(const RankTrace& rank, const JobGroups& groups, std::size_t place,
                     const ProgramOptions& options)
      : rank_(rank),
        trace_(rank.trace),
        groups_(groups),
        comms_(groups.comms.at(place)),
        options_(options),
        device_(device_of(rank.trace)),
        storages_(rank.trace, program_) {
    program_.rank = rank.rank;
    program_.file = rank.file;
  }

  RankProgram build(Findings& warnings);

 private:
  std::vector<std::uint32_t> nodes() const;
  std::uint32_t group_of(std::uint32_t node) const;
  void note_waits(gsl::span<const std::uint32_t> nodes);
  bool is_waited_for(const TraceComm& comm, std::uint32_t group, std::uint32_t node) const;
  void add_operator(std::uint32_t index);
  void add_communication(std::uint32_t index);
  void add_wait(const TraceNode& node, const TraceComm& comm, std::uint32_t group);
  bool leaves_out(const TraceNode& node, CommKind kind, std::uint32_t group);
  void fill_tensors(ProgramStep& step, const TraceNode& node, const TraceComm& comm);
  struct Side {
    bool is_input = false;
    std::int64_t elements = 0;
  };
  TraceRange add_inputs(const TraceNode& node, const TraceComm& comm);
  TraceRange add_outputs(const TraceNode& node, const TraceComm& comm);
  TraceRange add_tensors(TraceRange recorded, const Side& side, const TraceComm& comm);
  TraceRange empty_tensor(const TraceComm& comm);
  struct SplitOf {
    TraceRange tensors;   // of the program
    TraceRange recorded;  // of the node
    std::int64_t members = 0;
  };
  TraceRange add_split(TraceRange split, const SplitOf& of);
  void add_message(ProgramStep step, const RequestKey& key);
  void end_batch();
  void push(ProgramStep step);
  void push_wait(const ProgramStep& like, gsl::span<const std::uint32_t> steps);
  void finish();
  void warn(std::string rule, const TraceNode& node, std::string field, std::string message);

  std::uint32_t next_step() const { return std::uint32_t(program_.steps.size()); }

  const RankTrace& rank_;
  const ExecutionTrace& trace_;
  const JobGroups& groups_;
  const std::vector<JobComm>& comms_;
  const ProgramOptions& options_;
  std::string_view device_;
  RankProgram program_;
  ProgramStorages storages_;
  // For each request the last node that waits for it; and the steps that are under way, with their
  // begins.
  std::map<RequestKey, std::uint32_t> last_waits_;
  std::map<RequestKey, std::vector<std::uint32_t>> under_way_;
  std::set<RequestKey> begun_;
  // Messages of one request, so far, and those of them for which the program blocks.
  std::optional<RequestKey> batch_key_;
  std::vector<std::uint32_t> batch_, blocking_;
  std::set<std::pair<std::string, std::string>> warned_;
  Findings warnings_;
};

std::vector<std::uint32_t> RankProgramBuilder::nodes() const {
  TraceTree tree = tree_of(trace_);
  ReplayList list = replay_list(trace_, tree);
  if (options_.steps.empty()) return window_of(trace_, list, std::nullopt);
  std::vector<std::uint32_t> nodes;
  for (std::size_t step : options_.steps) {
    std::vector<std::uint32_t> window = window_of(trace_, list, step);
    nodes.insert(nodes.end(), window.begin(), window.end());
  }
  return nodes;
}

std::uint32_t RankProgramBuilder::group_of(std::uint32_t node) const {
  auto found = std::lower_bound(
      comms_.begin(), comms_.end(), node,
      [](const JobComm& comm, std::uint32_t wanted) { return comm.node < wanted; });
  return found != comms_.end() && found->node == node && found->group ? *found->group : no_group;
}

void RankProgramBuilder::note_waits(gsl::span<const std::uint32_t> nodes) {
  for (std::uint32_t index : nodes) {
    const TraceComm* comm = trace_.comm_of(trace_.nodes[index]);
    if (comm && comm_kind(trace_.text(comm->name)) == CommKind::wait)
      last_waits_[RequestKey::of(comm->request, group_of(index))] = index;
  }
}

bool RankProgramBuilder::is_waited_for(const TraceComm& comm, std::uint32_t group,
                                       std::uint32_t node) const {
  for (std::uint32_t in : {group, no_group}) {
    auto found = last_waits_.find(RequestKey::of(comm.request, in));
    if (found != last_waits_.end() && found->second > node) return true;
  }
  return false;
}

RankProgram RankProgramBuilder::build(Findings& warnings) {
  std::vector<std::uint32_t> list = nodes();
  note_waits(list);
  for (std::uint32_t index : list) {
    const TraceNode& node = trace_.nodes[index];
    storages_.begin_node(node);
    if (trace_.comm_of(node))
      add_communication(index);
    else if (options_.computes)
      add_operator(index);
  }
  end_batch();
  finish();
  for (Finding& warning : warnings_) warnings.push_back(std::move(warning));
  return std::move(program_);
}

void RankProgramBuilder::push(ProgramStep step) {
  step.uses = storages_.use(next_step());
  program_.steps.push_back(step);
}

void RankProgramBuilder::add_operator(std::uint32_t index) {
  const TraceNode& node = trace_.nodes[index];
  for (bool is_input : {true, false})
    for (const TraceTensor& tensor : trace_.tensors_in(is_input ? node.inputs : node.outputs))
      if (tensor.is_defined) storages_.touch(tensor, is_input);
  ++program_.operators;
  push({.node = node.id,
        .name = program_.texts.id_of(trace_.text(node.name)),
        .work = operator_work(trace_, node, device_)});
}

void RankProgramBuilder::warn(std::string rule, const TraceNode& node, std::string field,
                              std::string message) {
  if (!warned_.emplace(rule, message).second) return;
  warnings_.push_back({.severity = Severity::warning,
                       .rule = std::move(rule),
                       .rank = rank_.rank,
                       .node = node.id,
                       .field = std::move(field),
                       .message = std::move(message)});
}

bool RankProgramBuilder::leaves_out(const TraceNode& node, CommKind kind, std::uint32_t group) {
  if (kind == CommKind::init) return true;
  if (kind == CommKind::unknown) {
    warn("unknown_operation", node, "name",
         fmt::format("expected the name of a collective or message, got '{}'; it is left out",
                     trace_.text(trace_.comm_of(node)->name)));
    return true;
  }
  if (group == no_group) {
    warn("unknown_group", node, "group",
         "expected a communication in a group of the job, got one whose group isn't known; it is "
         "left out");
    return true;
  }
  return !allows(options_.kinds, kind) || !allows(options_.groups, group);
}

// The number of tensors tells a flat all-to-all of one tensor from lists with one tensor a member.
void RankProgramBuilder::fill_tensors(ProgramStep& step, const TraceNode& node,
                                      const TraceComm& comm) {
  std::int64_t members = std::int64_t(groups_.groups[step.group].members.size());
  step.inputs = add_inputs(node, comm);
  step.outputs = add_outputs(node, comm);
  bool is_in_place = step.comm == CommKind::all_reduce || step.comm == CommKind::broadcast ||
                     step.comm == CommKind::all_reduce_coalesced || step.comm == CommKind::recv ||
                     (step.comm == CommKind::reduce && step.member == step.root);
  if (step.outputs.size() == 0 && is_in_place) step.outputs = step.inputs;
  if (step.comm == CommKind::recv) step.inputs = {};
  if (step.comm == CommKind::send) step.outputs = {};
  std::int64_t in = step.inputs.size(), out = step.outputs.size();
  switch (step.comm) {
    case CommKind::all_gather: step.is_list = in == 1 && out == members; break;
    case CommKind::reduce_scatter: step.is_list = in == members && out == 1; break;
    case CommKind::all_to_all:
    case CommKind::all_to_allv: step.is_list = in > 1 || out > 1; break;
    default: break;
  }
  if (step.is_list || (step.comm != CommKind::all_to_all && step.comm != CommKind::all_to_allv))
    return;
  // A rank that sends or gets nothing may have no tensor for it.
  if (in == 0) step.inputs = empty_tensor(comm);
  if (out == 0) step.outputs = empty_tensor(comm);
  step.in_split = add_split(comm.in_split, {step.inputs, node.inputs, members});
  step.out_split = add_split(comm.out_split, {step.outputs, node.outputs, members});
}

TraceRange RankProgramBuilder::add_inputs(const TraceNode& node, const TraceComm& comm) {
  return add_tensors(node.inputs, {.is_input = true, .elements = comm.in_elements}, comm);
}

TraceRange RankProgramBuilder::add_outputs(const TraceNode& node, const TraceComm& comm) {
  return add_tensors(node.outputs, {.is_input = false, .elements = comm.out_elements}, comm);
}

// An undefined tensor in a list is an empty one. Where none is defined, as in traces of
// communications alone, a tensor is made of as many elements as the node records.
TraceRange RankProgramBuilder::add_tensors(TraceRange recorded, const Side& side,
                                           const TraceComm& comm) {
  auto tensors = trace_.tensors_in(recorded);
  ElementType type = element_type(trace_.text(comm.dtype), 0);
  TraceRange added{std::uint32_t(program_.tensors.size()), 0};
  bool has_some = std::any_of(tensors.begin(), tensors.end(),
                              [](const TraceTensor& tensor) { return tensor.is_defined; });
  for (const TraceTensor& tensor : tensors) {
    if (tensor.is_defined)
      program_.tensors.push_back(storages_.view_of(tensor, side.is_input));
    else if (has_some)
      program_.tensors.push_back(storages_.scratch(0, type.dtype));
  }
  if (!has_some && comm.has_tensors() && side.elements > 0)
    program_.tensors.push_back(storages_.scratch(side.elements * type.per_element, type.dtype));
  added.end = std::uint32_t(program_.tensors.size());
  return added;
}

TraceRange RankProgramBuilder::empty_tensor(const TraceComm& comm) {
  auto begin = std::uint32_t(program_.tensors.size());
  program_.tensors.push_back(storages_.scratch(0, element_type(trace_.text(comm.dtype), 0).dtype));
  return {begin, begin + 1};
}

// Splits count rows of the first dim; the replayed tensors are flat. An empty list cuts evenly.
// Sizes that don't add up are kept, since the engine's report names both sides.
TraceRange RankProgramBuilder::add_split(TraceRange split, const SplitOf& of) {
  const ProgramTensor& tensor = program_.tensors[of.tensors.begin];
  TraceRange added{std::uint32_t(program_.numbers.size()), 0};
  auto rows = trace_.numbers_in(split);
  std::int64_t row = 1;
  for (const TraceTensor& whole : trace_.tensors_in(of.recorded)) {
    if (!whole.is_defined || whole.elements == 0) continue;
    std::int64_t sum = std::accumulate(rows.begin(), rows.end(), std::int64_t(0));
    auto shape = trace_.numbers_in(whole.shape);
    row = tensor.elements / whole.elements;
    if (!shape.empty() && shape[0] == sum && sum > 0) row = tensor.elements / sum;
  }
  for (std::int64_t count : rows) program_.numbers.push_back(count * row);
  if (rows.empty())
    program_.numbers.insert(program_.numbers.end(), std::size_t(of.members),
                            tensor.elements / of.members);
  added.end = std::uint32_t(program_.numbers.size());
  return added;
}

void RankProgramBuilder::add_communication(std::uint32_t index) {
  const TraceNode& node = trace_.nodes[index];
  const TraceComm& comm = *trace_.comm_of(node);
  std::string_view name = trace_.text(comm.name);
  CommKind kind = comm_kind(name);
  std::uint32_t group = group_of(index);
  RequestKey key = RequestKey::of(comm.request, group);
  if (!batch_key_ || !is_message(kind) || *batch_key_ != key) end_batch();
  if (kind == CommKind::wait) return add_wait(node, comm, group);
  begun_.insert(key);
  if (leaves_out(node, kind, group)) {
    ++program_.left_out;
    return;
  }
  auto& members = groups_.groups[group].members;
  auto own = std::find(members.begin(), members.end(), rank_.rank);
  if (own == members.end())
    raise(ErrorKind::value_error, "replay/make_program",
          "{}: node {}: expected a communication in a group of rank {}, got one of other ranks",
          rank_.file, node.id, rank_.rank);
  ProgramStep step{.kind = ProgramStep::Kind::communicate,
                   .comm = kind,
                   .takes_any_source = takes_any_source(name),
                   .node = node.id,
                   .name = program_.texts.id_of(name),
                   .group = group,
                   .member = own - members.begin(),
                   .root = comm.rank};
  step.is_asynchronous =
      comm.is_asynchronous ? *comm.is_asynchronous : is_waited_for(comm, group, index);
  if (has_data(kind)) fill_tensors(step, node, comm);
  ++program_.communications;
  if (is_message(kind)) return add_message(step, key);
  if (step.is_asynchronous) under_way_[key].push_back(next_step());
  push(step);
}

void RankProgramBuilder::add_message(ProgramStep step, const RequestKey& key) {
  batch_key_ = key;
  batch_.push_back(next_step());
  if (!step.is_asynchronous && step.comm == CommKind::recv) blocking_.push_back(next_step());
  if (step.is_asynchronous || step.comm == CommKind::send) under_way_[key].push_back(next_step());
  step.is_asynchronous = true;
  push(step);
}

void RankProgramBuilder::end_batch() {
  if (batch_.size() == 1 && blocking_.size() == 1)
    program_.steps[batch_[0]].is_asynchronous = false;
  else if (!blocking_.empty())
    push_wait(program_.steps[blocking_.back()], blocking_);
  batch_key_.reset();
  batch_.clear();
  blocking_.clear();
}

void RankProgramBuilder::push_wait(const ProgramStep& like, gsl::span<const std::uint32_t> steps) {
  ProgramStep wait{.kind = ProgramStep::Kind::wait,
                   .comm = CommKind::wait,
                   .node = like.node,
                   .name = program_.texts.id_of("wait"),
                   .group = like.group,
                   .member = like.member};
  wait.waits.begin = std::uint32_t(program_.indices.size());
  program_.indices.insert(program_.indices.end(), steps.begin(), steps.end());
  wait.waits.end = std::uint32_t(program_.indices.size());
  for (std::uint32_t step : steps)
    for (std::uint32_t storage : program_.indices_in(program_.steps[step].uses))
      program_.storages[storage].last_step = next_step();
  push(wait);
}

void RankProgramBuilder::add_wait(const TraceNode& node, const TraceComm& comm,
                                  std::uint32_t group) {
  RequestKey key = RequestKey::of(comm.request, group);
  auto found = under_way_.find(key);
  bool has_begun = begun_.contains(key);
  if (found == under_way_.end() && group == no_group) {
    for (auto it = under_way_.lower_bound(RequestKey{key.sequence, key.point_to_point, 0});
         it != under_way_.end() && it->first.has_request_of(key); ++it)
      if (found == under_way_.end() || it->second.front() < found->second.front()) found = it;
    auto begun = begun_.lower_bound(RequestKey{key.sequence, key.point_to_point, 0});
    has_begun = has_begun || (begun != begun_.end() && begun->has_request_of(key));
  }
  if (found == under_way_.end()) {
    if (!has_begun) ++program_.dangling_waits;
    return;
  }
  std::vector<std::uint32_t> steps = std::move(found->second);
  under_way_.erase(found);
  ProgramStep like = program_.steps[steps.front()];
  like.node = node.id;
  push_wait(like, steps);
}

// A communication that nothing waits for continues to the end of the iteration.
void RankProgramBuilder::finish() {
  for (const auto& [key, steps] : under_way_) {
    for (std::uint32_t step : steps) {
      if (program_.steps[step].comm != CommKind::send) ++program_.never_waited_for;
      for (std::uint32_t storage : program_.indices_in(program_.steps[step].uses))
        program_.storages[storage].last_step = next_step();
    }
  }
}

void require_all_ranks(const TraceJob& job, const JobGroups& groups) {
  std::string missing;
  for (std::int64_t rank = 0; rank < groups.world_size; ++rank)
    if (!job.find(rank) && missing.size() < 100)
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
  if (!missing.empty())
    raise(ErrorKind::value_error, "replay/make_program",
          "expected the traces of all {} ranks, got none of rank {}; fill_missing_ranks makes "
          "those of a job whose ranks do the same",
          groups.world_size, missing);
  if (std::int64_t(job.ranks.size()) != groups.world_size)
    raise(ErrorKind::value_error, "replay/make_program", "expected traces of {} ranks, got {}",
          groups.world_size, job.ranks.size());
}

}  // namespace

ReplayProgram make_program(const TraceJob& job, const JobGroups& groups,
                           const ProgramOptions& options) {
  require_all_ranks(job, groups);
  ReplayProgram program;
  program.groups = groups.groups;
  for (std::size_t place = 0; place < job.ranks.size(); ++place)
    program.ranks.push_back(
        RankProgramBuilder(job.ranks[place], groups, place, options).build(program.warnings));
  return program;
}

}  // namespace simmesh::replay
