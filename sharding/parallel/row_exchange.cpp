#include "sharding/parallel/row_exchange.h"

#include <numeric>
#include <vector>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/ops/indexing/gathering.h"
#include "core/tensor/known_tensor.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

namespace {

// Rows in pieces, which form a matrix in row-major order.
struct Pieces {
  std::int64_t rows, columns;
  Dims lengths;

  Dims transposed_lengths() const {
    Dims result;
    for (std::int64_t column = 0; column < columns; ++column)
      for (std::int64_t row = 0; row < rows; ++row)
        result.push_back(lengths[std::size_t(row * columns + column)]);
    return result;
  }
  // Returns the tensor's rows with the pieces in column-major order.
  Tensor transposed(const Tensor& tensor) const {
    std::vector<std::int64_t> starts(lengths.size() + 1, 0), order;
    std::partial_sum(lengths.begin(), lengths.end(), starts.begin() + 1);
    for (std::int64_t column = 0; column < columns; ++column)
      for (std::int64_t row = 0; row < rows; ++row) {
        auto piece = std::size_t(row * columns + column);
        for (std::int64_t i = starts[piece]; i < starts[piece + 1]; ++i) order.push_back(i);
      }
    return index_select(tensor, 0, vector_of<std::int64_t>(order));
  }
  Dims row_sums() const {
    Dims sums;
    for (std::int64_t row = 0; row < rows; ++row) {
      auto first = lengths.begin() + row * columns;
      sums.push_back(std::accumulate(first, first + columns, std::int64_t{0}));
    }
    return sums;
  }
};

Tensor dims_tensor(const Dims& dims) { return vector_of<std::int64_t>(dims); }

}  // namespace

RowExchange::RowExchange(const ProcessGroup& group, const RowRoute& route)
    : group_(group), route_(route) {
  if (!route.by_nodes) return;
  std::int64_t size = route.ranks_per_node;
  if (size < 1 || group.size() % size != 0)
    raise(ErrorKind::value_error, "sharding/row_exchange",
          "expected nodes of a number of ranks that divides the {} ranks of the group, got {}",
          group.size(), size);
  std::vector<std::int64_t> node, peers;
  std::int64_t own = group.rank() / size, place = group.rank() % size;
  for (std::int64_t i = 0; i < size; ++i) node.push_back(group.members()[own * size + i]);
  for (std::int64_t i = 0; i < group.size() / size; ++i)
    peers.push_back(group.members()[i * size + place]);
  node_ = ProcessGroup::of(RankList::of(node), group.name() + "_node");
  peers_ = ProcessGroup::of(RankList::of(peers), group.name() + "_peers");
}

bool RowExchange::is_inside(std::int64_t rank) const {
  std::int64_t size = route_.ranks_per_node;
  return size > 0 && rank / size == group_.rank() / size;
}

Tensor RowExchange::operator()(const Tensor& rows, const Dims& sent, const Dims& came) {
  if (route_.by_nodes) return by_nodes(rows, sent, came);
  for (std::int64_t rank = 0; rank < group_.size(); ++rank)
    if (rank != group_.rank() && sent[std::size_t(rank)] > 0)
      ++(is_inside(rank) ? messages_.inside : messages_.between);
  return all_to_all_single(rows, {sent, came}, group_);
}

Tensor RowExchange::by_nodes(const Tensor& rows, const Dims& sent, const Dims& came) {
  std::int64_t size = node_->size(), nodes = peers_->size();
  // Pieces by destination: node and place there. They go to the rank of this node at that place.
  Pieces to{nodes, size, sent};
  Pieces by_place{size, nodes, to.transposed_lengths()};
  Dims counts(std::size_t(size), nodes);
  Tensor of_node = known_tensor(
      all_to_all_single(dims_tensor(by_place.lengths), {counts, counts}, *node_).contiguous(),
      "rows of the node");
  // Without values all pieces are as long as the first one, see TokenExchange.
  Dims lengths(std::size_t(of_node.numel()), by_place.lengths.front());
  if (of_node.has_elements()) {
    auto values = of_node.values<std::int64_t>();
    lengths.assign(values.begin(), values.end());
  }
  // Pieces of the node's ranks by the node of the destination.
  Pieces from_node{size, nodes, lengths};
  Tensor gathered =
      all_to_all_single(to.transposed(rows), {by_place.row_sums(), from_node.row_sums()}, *node_);
  Pieces by_node{nodes, size, from_node.transposed_lengths()};
  Pieces from{nodes, size, came};
  for (std::int64_t i = 0; i < size; ++i)
    messages_.inside += i != node_->rank() && by_place.row_sums()[std::size_t(i)] > 0;
  for (std::int64_t i = 0; i < nodes; ++i)
    messages_.between += i != peers_->rank() && by_node.row_sums()[std::size_t(i)] > 0;
  return all_to_all_single(from_node.transposed(gathered), {by_node.row_sums(), from.row_sums()},
                           *peers_);
}

}  // namespace simmesh
