#include "replay/trace/trace_summary.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "replay/trace/replay_list.h"

namespace simmesh::replay {

namespace {

auto tuple_of(const TraceTensor& tensor) {
  return std::tuple(tensor.tensor, tensor.storage, tensor.offset, tensor.elements,
                    tensor.item_bytes, tensor.device);
}

template <class Key>
std::int64_t count_distinct(std::vector<Key>& keys) {
  std::sort(keys.begin(), keys.end());
  return std::unique(keys.begin(), keys.end()) - keys.begin();
}

void count_tuples(const ExecutionTrace& trace, std::vector<const TraceTensor*>& tensors,
                  TraceSummary& summary) {
  auto shape_of = [&](const TraceTensor* tensor) { return trace.numbers_in(tensor->shape); };
  auto is_before = [&](const TraceTensor* a, const TraceTensor* b) {
    auto first = tuple_of(*a), second = tuple_of(*b);
    if (first != second) return first < second;
    auto one = shape_of(a), other = shape_of(b);
    return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end());
  };
  std::sort(tensors.begin(), tensors.end(), is_before);
  bool has_two = false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    bool is_new = i == 0 || tuple_of(*tensors[i - 1]) != tuple_of(*tensors[i]);
    summary.tensor_tuples += is_new;
    if (is_new) {
      has_two = false;
    } else if (!has_two && is_before(tensors[i - 1], tensors[i])) {
      has_two = true;
      ++summary.tuples_with_two_shapes;
    }
  }
}

void count_tensors(const ExecutionTrace& trace, TraceSummary& summary) {
  std::vector<const TraceTensor*> defined;
  std::vector<std::int64_t> tensor_ids, storage_ids;
  std::vector<std::pair<std::int64_t, TextId>> storages;
  for (const TraceTensor& tensor : trace.tensors) {
    if (!tensor.is_defined) {
      ++summary.undefined_tensors;
      continue;
    }
    defined.push_back(&tensor);
    tensor_ids.push_back(tensor.tensor);
    storage_ids.push_back(tensor.storage);
    storages.emplace_back(tensor.storage, tensor.device);
  }
  count_tuples(trace, defined, summary);
  summary.tensor_ids = count_distinct(tensor_ids);
  summary.storage_ids = count_distinct(storage_ids);
  summary.storages = count_distinct(storages);
}

// Nodes are sorted by id.
void count_nodes(const ExecutionTrace& trace, TraceSummary& summary) {
  const TraceNode* previous = nullptr;
  for (const TraceNode& node : trace.nodes) {
    summary.unique_ids += !previous || previous->id != node.id;
    previous = &node;
    summary.all_operators += is_operator(trace, node);
    summary.orphans += trace.find(node.parent) == nullptr;
    summary.backward_parent += node.parent > node.id;
    summary.tensor_ranges += node.tensor_range != TextId{};
    ++summary.threads[node.thread];
    if (!is_communication(trace, node)) continue;
    ++summary.comm_nodes;
    if (const TraceComm* comm = trace.comm_of(node))
      ++summary.comm_by_name[std::string(trace.text(comm->name))];
  }
}

}  // namespace

TraceSummary summarize(const ExecutionTrace& trace) {
  TraceTree tree = tree_of(trace);
  ReplayList list = replay_list(trace, tree);
  TraceSummary summary{.schema = trace.schema.text,
                       .nodes = std::int64_t(trace.nodes.size()),
                       .min_id = trace.nodes.front().id,
                       .max_id = trace.nodes.back().id,
                       .root = trace.nodes[tree.root].id,
                       .operators = std::int64_t(list.operators.size()),
                       .file_order_inversions = std::int64_t(trace.file_order_inversions),
                       .strides = trace.has_strides,
                       .process_group_nodes = std::int64_t(trace.process_group_nodes),
                       .process_groups = trace.process_groups};
  for (std::uint32_t i : list.operators)
    summary.triton += trace.text(trace.nodes[i].kernel_backend) == "triton";
  for (std::uint32_t i : list.steps) summary.steps.push_back(trace.nodes[i].id);
  count_nodes(trace, summary);
  count_tensors(trace, summary);
  return summary;
}

}  // namespace simmesh::replay
