#pragma once

#include <cstdint>
#include <optional>

#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// RowRoute is the way of rows from rank to rank. Nodes are this number of neighbouring ranks of a
// group; 0 for a group without nodes.
//   flat       each rank sends to each rank
//   by_nodes   rows first go to the rank of the same node that has the place of their destination,
//              and then to its node: as many rows cross nodes, in 1/ranks_per_node of the messages
struct RowRoute {
  std::int64_t ranks_per_node = 0;
  bool by_nodes = false;
};

// RowMessages count the pieces of rows that this rank sent to others, empty ones left out.
struct RowMessages {
  std::int64_t inside = 0;   // to ranks of its node
  std::int64_t between = 0;  // to ranks of other nodes
};

// RowExchange is an all-to-all of the rows of tensors, in the order of the ranks of a group. Its
// result doesn't depend on the route. All members of the group take part in each call.
class RowExchange {
 public:
  // Raises a ValueError for a route by nodes that don't divide the group.
  RowExchange(const ProcessGroup& group, const RowRoute& route);

  // operator() returns the rows that come from each rank, given how many go to each and come from
  // each.
  Tensor operator()(const Tensor& rows, const Dims& sent, const Dims& came);
  const RowMessages& messages() const { return messages_; }

 private:
  Tensor by_nodes(const Tensor& rows, const Dims& sent, const Dims& came);
  bool is_inside(std::int64_t rank) const;

  ProcessGroup group_;
  RowRoute route_;
  std::optional<ProcessGroup> node_;   // the ranks of this rank's node
  std::optional<ProcessGroup> peers_;  // the ranks at its place in each node
  RowMessages messages_;
};

}  // namespace simmesh
