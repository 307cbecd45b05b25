#include "replay/read/label_comm.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "replay/read/node_arguments.h"
#include "replay/trace/comm_kind.h"

namespace simmesh::replay {

namespace dom = simdjson::dom;

namespace {

// LabelForm is how the arguments of a kind of operator are ordered.
struct LabelForm {
  bool has_outputs_first = false;
  std::optional<std::size_t> rank;  // the place of the root or the peer
};

LabelForm form_of_label(CommKind kind) {
  switch (kind) {
    case CommKind::broadcast:
    case CommKind::send:
    case CommKind::recv: return {.rank = 2};
    case CommKind::reduce: return {.rank = 3};
    case CommKind::gather:
    case CommKind::scatter: return {.has_outputs_first = true, .rank = 3};
    case CommKind::all_gather:
    case CommKind::all_gather_base:
    case CommKind::all_gather_coalesced:
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_base:
    case CommKind::reduce_scatter_coalesced:
    case CommKind::all_to_all:
    case CommKind::all_to_allv: return {.has_outputs_first = true};
    default: return {};
  }
}

// A tensor is [tensor id, storage id, offset, elements, bytes an element, device].
bool is_tensor(const dom::array& list) {
  return list.size() >= 5 && list.size() <= 6 && list.at(0).is_int64() && list.at(4).is_int64();
}

std::size_t count_tensors(const dom::element& value) {
  dom::array list;
  if (value.get(list)) return 0;
  if (is_tensor(list)) return 1;
  std::size_t count = 0;
  for (dom::element entry : list) count += count_tensors(entry);
  return count;
}

TraceRange add_numbers(const std::vector<std::int64_t>& numbers, ExecutionTrace& trace) {
  TraceRange range{.begin = std::uint32_t(trace.numbers.size())};
  trace.numbers.insert(trace.numbers.end(), numbers.begin(), numbers.end());
  range.end = std::uint32_t(trace.numbers.size());
  return range;
}

std::int64_t elements_in(const ExecutionTrace& trace, TraceRange range) {
  std::int64_t elements = 0;
  for (const TraceTensor& tensor : trace.tensors_in(range)) elements += tensor.elements;
  return elements;
}

// The nodes that are above or below a node "record_param_comms", by id.
std::unordered_set<std::int64_t> nodes_around_records(const ExecutionTrace& trace) {
  std::unordered_map<std::int64_t, std::int64_t> parents;
  for (const TraceNode& node : trace.nodes) parents.emplace(node.id, node.parent);
  std::unordered_set<std::int64_t> around, records;
  for (const TraceNode& node : trace.nodes) {
    if (trace.text(node.name) != "record_param_comms") continue;
    records.insert(node.id);
    // Parents may form a circle.
    for (std::int64_t id = node.parent; around.insert(id).second;) {
      auto parent = parents.find(id);
      if (parent == parents.end()) break;
      id = parent->second;
    }
  }
  for (const TraceNode& node : trace.nodes)
    if (records.contains(node.parent)) around.insert(node.id);
  return around;
}

// True if it doesn't matter in which of the groups a communication is; false for none.
bool have_same_members(const std::vector<ProcessGroupRecord>& groups) {
  return !groups.empty() &&
         std::all_of(groups.begin(), groups.end(), [&](const ProcessGroupRecord& group) {
           return group.size == groups.front().size && group.ranks == groups.front().ranks;
         });
}

void adopt(const LabelComm& label, std::int64_t request, TraceNode& node, ExecutionTrace& trace) {
  if (label.outputs && node.inputs.size() >= *label.outputs) {
    node.outputs = {node.inputs.begin, node.inputs.begin + std::uint32_t(*label.outputs)};
    node.inputs.begin += std::uint32_t(*label.outputs);
  }
  CommKind kind = comm_kind(label.name);
  if (kind == CommKind::send) node.outputs = {};
  if (kind == CommKind::recv) {
    node.outputs = node.inputs;
    node.inputs = {};
  }
  if (kind == CommKind::barrier) node.inputs = node.outputs = {};
  TraceComm comm;
  comm.name = trace.texts.id_of(label.name);
  comm.request.sequence = request;
  if (is_message(kind)) comm.request.is_point_to_point = true;
  comm.rank = label.rank;
  comm.in_split = add_numbers(label.in_split, trace);
  comm.out_split = add_numbers(label.out_split, trace);
  comm.in_elements = elements_in(trace, node.inputs);
  comm.out_elements = elements_in(trace, node.outputs);
  TraceRange typed = node.inputs.size() > 0 ? node.inputs : node.outputs;
  if (typed.size() > 0) {
    std::string type(c10_type(trace.text(trace.tensors_in(typed).front().type)));
    comm.dtype = trace.texts.id_of(type);
  }
  if (have_same_members(trace.process_groups)) {
    const ProcessGroupRecord& group = trace.process_groups.front();
    comm.group.name_and_description =
        std::pair(trace.texts.id_of(group.name), trace.texts.id_of(group.description));
  }
  node.comm = std::uint32_t(trace.comms.size());
  trace.comms.push_back(comm);
}

}  // namespace

std::optional<LabelComm> read_label_comm(std::string_view name, dom::array arguments) {
  if (!name.starts_with("c10d::")) return std::nullopt;
  name.remove_prefix(6);
  if (name.ends_with('_')) name.remove_suffix(1);
  CommKind kind = comm_kind(name);
  if (!has_data(kind) && kind != CommKind::barrier) return std::nullopt;
  LabelComm label{.name = std::string(name)};
  LabelForm form = form_of_label(kind);
  dom::element argument;
  if (form.has_outputs_first) {
    if (arguments.at(0).get(argument)) return std::nullopt;
    label.outputs = count_tensors(argument);
  }
  if (form.rank && !takes_any_source(name) && arguments.at(*form.rank).get(label.rank))
    return std::nullopt;
  if (kind == CommKind::all_to_allv) {
    if (!arguments.at(3).get(argument)) add_integers(argument, label.out_split);
    if (!arguments.at(4).get(argument)) add_integers(argument, label.in_split);
  }
  return label;
}

void adopt_labels(const std::vector<AdoptedLabel>& labels, ExecutionTrace& trace) {
  if (labels.empty()) return;
  std::unordered_set<std::int64_t> around = nodes_around_records(trace);
  std::unordered_map<std::int64_t, const LabelComm*> by_node;
  for (const AdoptedLabel& label : labels)
    if (!around.contains(label.node)) by_node.emplace(label.node, &label.comm);
  std::int64_t request = 0;
  for (TraceNode& node : trace.nodes) {
    auto found = by_node.find(node.id);
    if (found == by_node.end() || node.comm) continue;
    adopt(*found->second, --request, node, trace);
    by_node.erase(found);
  }
}

}  // namespace simmesh::replay
