#include "sharding/parallel/hierarchical_exchange.h"

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

ProcessGroup part_of_group(const ProcessGroup& group, std::int64_t first, std::int64_t step,
                           std::int64_t count, const char* name) {
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < count; ++i) ranks.push_back(group.members()[first + i * step]);
  return ProcessGroup::of(RankList::of(gsl::span<const std::int64_t>(ranks)), name);
}

std::int64_t checked_size(const ProcessGroup& group, std::int64_t ranks_per_node) {
  if (ranks_per_node < 1 || group.size() % ranks_per_node != 0)
    raise(ErrorKind::value_error, "sharding/expert_parallel",
          "expected nodes that divide {} ranks, got nodes of {}", group.size(), ranks_per_node);
  return ranks_per_node;
}

// Sends each member a list of tensors as one, with the numbers of their rows.
std::vector<std::vector<Tensor>> exchanged(const std::vector<std::vector<Tensor>>& lists,
                                           const ProcessGroup& group) {
  std::vector<Tensor> rows, counts;
  for (const std::vector<Tensor>& list : lists) {
    rows.push_back(cat(list));
    Tensor& sizes = counts.emplace_back(empty({std::int64_t(list.size())}, DType::int64));
    auto values = sizes.mutable_values<std::int64_t>();
    for (std::size_t i = 0; i < list.size(); ++i) values[i] = list[i].size(0);
  }
  std::vector<Tensor> sizes = all_to_all_list(counts, group);
  std::vector<Tensor> came = all_to_all_list(rows, group);
  std::vector<std::vector<Tensor>> result;
  for (std::size_t from = 0; from < came.size(); ++from) {
    auto values = sizes[from].values<std::int64_t>();
    result.push_back(split(came[from], DimSpan(values.data(), values.size())));
  }
  return result;
}

}  // namespace

HierarchicalExchange::HierarchicalExchange(const ProcessGroup& group, std::int64_t ranks_per_node)
    : node_(part_of_group(group, group.rank() - group.rank() % checked_size(group, ranks_per_node),
                          1, ranks_per_node, "node")),
      place_(part_of_group(group, group.rank() % ranks_per_node, ranks_per_node,
                           group.size() / ranks_per_node, "place")) {}

std::vector<Tensor> HierarchicalExchange::run(const std::vector<Tensor>& pieces) const {
  NoGrad mode;
  auto places = std::size_t(node_.size()), nodes = std::size_t(place_.size());
  // By place: the tensors for that place of each node.
  std::vector<std::vector<Tensor>> by_place(places);
  for (std::size_t place = 0; place < places; ++place)
    for (std::size_t node = 0; node < nodes; ++node)
      by_place[place].push_back(pieces.at(node * places + place));
  std::vector<std::vector<Tensor>> within = exchanged(by_place, node_);
  // By node: the tensors of each place of this node.
  std::vector<std::vector<Tensor>> by_node(nodes);
  for (std::size_t node = 0; node < nodes; ++node)
    for (std::size_t place = 0; place < places; ++place)
      by_node[node].push_back(within[place][node]);
  std::vector<Tensor> result;
  for (const std::vector<Tensor>& of_node : exchanged(by_node, place_))
    result.insert(result.end(), of_node.begin(), of_node.end());
  return result;
}

}  // namespace simmesh
