#include "replay/trace/trace_summary.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "replay/trace/node_places.h"
#include "replay/trace/replay_list.h"

namespace simmesh::replay {

namespace {

// TensorTuple is the record of a tensor, and its first shape.
struct TensorTuple {
  const TraceTensor* tensor;
  gsl::span<const std::int64_t> shape;
  mutable bool has_two_shapes = false;

  bool operator==(const TensorTuple& other) const {
    const TraceTensor &a = *tensor, &b = *other.tensor;
    return a.tensor == b.tensor && a.storage == b.storage && a.offset == b.offset &&
           a.elements == b.elements && a.item_bytes == b.item_bytes && a.device == b.device;
  }
};

struct HashTuple {
  std::size_t operator()(const TensorTuple& tuple) const {
    const TraceTensor& tensor = *tuple.tensor;
    std::uint64_t hash = 0;
    for (std::int64_t number :
         {tensor.tensor, tensor.storage, tensor.offset, tensor.elements, tensor.item_bytes})
      hash = (hash ^ std::uint64_t(number)) * 0x9E3779B97F4A7C15 + (hash >> 29);
    return std::size_t(hash ^ (hash >> 32));
  }
};

template <class Key>
std::int64_t count_distinct(std::vector<Key>& keys) {
  std::sort(keys.begin(), keys.end());
  return std::unique(keys.begin(), keys.end()) - keys.begin();
}

void count_tensors(const ExecutionTrace& trace, TraceSummary& summary) {
  std::unordered_set<TensorTuple, HashTuple> tuples;
  std::vector<std::int64_t> tensor_ids, storage_ids;
  std::vector<std::pair<std::int64_t, TextId>> storages;
  for (const TraceTensor& tensor : trace.tensors) {
    if (!tensor.is_defined) {
      ++summary.undefined_tensors;
      continue;
    }
    auto shape = trace.numbers_in(tensor.shape);
    auto [place, is_new] = tuples.insert({&tensor, shape});
    if (!is_new) {
      bool is_same =
          std::equal(shape.begin(), shape.end(), place->shape.begin(), place->shape.end());
      summary.tuples_with_two_shapes += !is_same && !place->has_two_shapes;
      place->has_two_shapes |= !is_same;
      continue;
    }
    tensor_ids.push_back(tensor.tensor);
    storage_ids.push_back(tensor.storage);
    storages.emplace_back(tensor.storage, tensor.device);
  }
  summary.tensor_tuples = std::int64_t(tuples.size());
  summary.tensor_ids = count_distinct(tensor_ids);
  summary.storage_ids = count_distinct(storage_ids);
  summary.storages = count_distinct(storages);
}

// Nodes are sorted by id.
void count_nodes(const ExecutionTrace& trace, TraceSummary& summary) {
  NodePlaces places(trace);
  const TraceNode* previous = nullptr;
  for (const TraceNode& node : trace.nodes) {
    summary.unique_ids += !previous || previous->id != node.id;
    previous = &node;
    summary.all_operators += is_operator(trace, node);
    summary.orphans += !places.find(node.parent).has_value();
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
