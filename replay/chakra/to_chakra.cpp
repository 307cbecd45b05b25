#include "replay/chakra/to_chakra.h"

#include <algorithm>
#include <map>
#include <optional>

#include "replay/trace/comm_kind.h"
#include "replay/trace/replay_list.h"
#include "replay/write/argument_lists.h"

namespace simmesh::replay {

namespace {

using Ids = std::vector<std::uint64_t>;

// DataOrder finds what must be done before each node, in their order.
class DataOrder {
 public:
  explicit DataOrder(const ExecutionTrace& trace) : trace_(trace) {}

  Ids before(const TraceNode& node) {
    needed_.clear();
    id_ = std::uint64_t(node.id);
    for (const TraceTensor& input : trace_.tensors_in(node.inputs)) read(input);
    for (const TraceTensor& output : trace_.tensors_in(node.outputs)) write(output);
    if (const TraceComm* comm = trace_.comm_of(node)) order_comm(node, *comm);
    std::sort(needed_.begin(), needed_.end());
    needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
    std::erase(needed_, id_);
    return needed_;
  }

 private:
  struct Uses {
    std::optional<std::uint64_t> writer;
    Ids readers;  // since it was written
  };
  using Place = std::pair<std::int64_t, TextId>;

  Uses& uses_of(const TraceTensor& tensor) { return uses_[{tensor.storage, tensor.device}]; }
  void read(const TraceTensor& tensor) {
    if (!tensor.is_defined) return;
    Uses& uses = uses_of(tensor);
    if (uses.writer) needed_.push_back(*uses.writer);
    uses.readers.push_back(id_);
  }
  void write(const TraceTensor& tensor) {
    if (!tensor.is_defined) return;
    Uses& uses = uses_of(tensor);
    if (uses.writer) needed_.push_back(*uses.writer);
    needed_.insert(needed_.end(), uses.readers.begin(), uses.readers.end());
    uses = {id_, {}};
  }
  void order_comm(const TraceNode& node, const TraceComm& comm) {
    std::tuple group(comm.group.address, comm.group.name_and_description, comm.global_rank_start);
    auto operation = std::pair(comm.group.name_and_description, comm.request);
    if (trace_.text(comm.name) == "wait") {
      auto started = started_.find(operation);
      if (started == started_.end()) return;
      needed_.push_back(std::uint64_t(started->second->id));
      for (const TraceTensor& output : trace_.tensors_in(started->second->outputs)) write(output);
      return;
    }
    auto [last, is_first] = last_in_group_.emplace(group, id_);
    if (!is_first) needed_.push_back(last->second);
    last->second = id_;
    started_[operation] = &node;
  }

  using Name = std::optional<std::pair<TextId, TextId>>;
  const ExecutionTrace& trace_;
  std::map<Place, Uses> uses_;
  std::map<std::tuple<std::int64_t, Name, std::int64_t>, std::uint64_t> last_in_group_;
  std::map<std::pair<Name, TraceRequest>, const TraceNode*> started_;
  Ids needed_;
  std::uint64_t id_ = 0;
};

std::int64_t bytes_of(const ExecutionTrace& trace, TraceRange range) {
  std::int64_t bytes = 0;
  for (const TraceTensor& tensor : trace.tensors_in(range))
    bytes += tensor.elements * tensor.item_bytes;
  return bytes;
}

// Returns the collective of a communication; empty for messages, waits and kinds for which Chakra
// has no type.
std::optional<ChakraCommType> comm_type(CommKind kind) {
  switch (kind) {
    case CommKind::all_reduce:
    case CommKind::all_reduce_coalesced: return ChakraCommType::all_reduce;
    case CommKind::reduce: return ChakraCommType::reduce;
    case CommKind::all_gather:
    case CommKind::all_gather_base:
    case CommKind::all_gather_coalesced: return ChakraCommType::all_gather;
    case CommKind::gather: return ChakraCommType::gather;
    case CommKind::scatter: return ChakraCommType::scatter;
    case CommKind::broadcast: return ChakraCommType::broadcast;
    case CommKind::all_to_all:
    case CommKind::all_to_allv: return ChakraCommType::all_to_all;
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_base:
    case CommKind::reduce_scatter_coalesced: return ChakraCommType::reduce_scatter;
    case CommKind::barrier: return ChakraCommType::barrier;
    default: return std::nullopt;
  }
}

// GraphMaker makes the nodes of one rank's graph.
class GraphMaker {
 public:
  explicit GraphMaker(const RankTrace& rank) : rank_(rank), trace_(rank.trace), order_(trace_) {}

  ChakraTrace make();

 private:
  void choose();
  ChakraNode node_of(std::uint32_t index);
  void describe(const TraceNode& node, const TraceComm& comm, ChakraNode& made) const;
  void describe_message(const TraceComm& comm, CommKind kind, ChakraNode& made) const;
  std::int64_t global_rank(const TraceComm& comm, std::int64_t member) const;
  std::string text(TextId id) const { return std::string(trace_.text(id)); }

  const RankTrace& rank_;
  const ExecutionTrace& trace_;
  DataOrder order_;
  TraceTree tree_;
  std::vector<bool> is_chosen_;
};

// Chooses the nodes from the root down to the first operators.
void GraphMaker::choose() {
  is_chosen_.assign(trace_.nodes.size(), false);
  std::vector<std::uint32_t> rest = {std::uint32_t(tree_.root)};
  while (!rest.empty()) {
    std::uint32_t index = rest.back();
    rest.pop_back();
    is_chosen_[index] = true;
    if (is_operator(trace_, trace_.nodes[index])) continue;
    rest.insert(rest.end(), tree_.children.begin() + tree_.children_begin[index],
                tree_.children.begin() + tree_.children_begin[index + 1]);
  }
}

std::int64_t GraphMaker::global_rank(const TraceComm& comm, std::int64_t member) const {
  if (comm.group.name_and_description)
    for (const ProcessGroupRecord& group : trace_.process_groups)
      if (group.name == trace_.text(comm.group.name_and_description->first) &&
          member < std::int64_t(group.ranks.size()))
        return member < 0 ? member : group.ranks[std::size_t(member)];
  return member;
}

void GraphMaker::describe_message(const TraceComm& comm, CommKind kind, ChakraNode& made) const {
  bool sends = kind == CommKind::send;
  made.type = sends ? ChakraNodeType::comm_send : ChakraNodeType::comm_recv;
  std::int64_t peer = global_rank(comm, comm.rank);
  std::int64_t tag = 0;
  for (const TraceAttribute& attribute : trace_.attributes_in(comm.attributes))
    if (trace_.text(attribute.name) == "tag")
      if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) tag = *number;
  made.attributes.push_back({"comm_src", sends ? rank_.rank : peer});
  made.attributes.push_back({"comm_dst", sends ? peer : rank_.rank});
  made.attributes.push_back({"comm_tag", tag});
}

void GraphMaker::describe(const TraceNode& node, const TraceComm& comm, ChakraNode& made) const {
  CommKind kind = comm_kind(trace_.text(comm.name));
  auto type = comm_type(kind);
  if (!type && !is_message(kind)) {
    made.type = ChakraNodeType::metadata;
    return;
  }
  made.type = ChakraNodeType::comm_coll;
  if (type) made.attributes.push_back({"comm_type", std::int64_t(*type)});
  bool gets_only = node.inputs.size() == 0;
  made.attributes.push_back(
      {"comm_size", bytes_of(trace_, gets_only ? node.outputs : node.inputs)});
  if (const auto& name = comm.group.name_and_description)
    made.attributes.push_back({"pg_name", text(name->first)});
  if (is_message(kind)) describe_message(comm, kind, made);
}

ChakraNode GraphMaker::node_of(std::uint32_t index) {
  const TraceNode& node = trace_.nodes[index];
  const TraceComm* comm = trace_.comm_of(node);
  bool runs = is_operator(trace_, node);
  ArgumentLists inputs = input_lists(trace_, node), outputs = output_lists(trace_, node);
  ChakraNode made{.id = std::uint64_t(node.id),
                  .name = text(node.name),
                  .type = runs ? ChakraNodeType::comp : ChakraNodeType::metadata,
                  .inputs = {inputs.values, inputs.shapes, inputs.types},
                  .outputs = {outputs.values, outputs.shapes, outputs.types},
                  .attributes = {{"rf_id", node.record_function},
                                 {"fw_parent", node.forward_parent},
                                 {"seq_id", node.sequence},
                                 {"scope", node.scope},
                                 {"tid", node.thread},
                                 {"fw_tid", node.forward_thread},
                                 {"op_schema", text(node.op_schema)}}};
  if (index != tree_.root) made.ctrl_deps = {std::uint64_t(trace_.nodes[tree_.parents[index]].id)};
  if (runs) made.data_deps = order_.before(node);
  if (comm) {
    describe(node, *comm, made);
  } else if (runs) {
    std::int64_t bytes = bytes_of(trace_, node.inputs) + bytes_of(trace_, node.outputs);
    made.attributes.push_back({"tensor_size", bytes});
  }
  made.attributes.push_back({"is_cpu_op", made.type == ChakraNodeType::metadata});
  return made;
}

ChakraTrace GraphMaker::make() {
  ChakraTrace made{.version = "0.0.4",
                   .metadata = {{"schema", trace_.schema.text},
                                {"start_ts", std::uint64_t(trace_.start_ms)},
                                {"finish_ts", std::uint64_t(trace_.finish_ms)}}};
  tree_ = tree_of(trace_);
  choose();
  for (std::uint32_t index = 0; index < trace_.nodes.size(); ++index)
    if (is_chosen_[index]) made.nodes.push_back(node_of(index));
  made.messages = std::int64_t(made.nodes.size()) + 1;
  return made;
}

}  // namespace

ChakraTrace to_chakra(const RankTrace& rank) { return GraphMaker(rank).make(); }

}  // namespace simmesh::replay
