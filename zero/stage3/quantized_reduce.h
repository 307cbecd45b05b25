#pragma once

#include <cstdint>
#include <vector>

#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh::zero {

// NodeGroups are the groups of a rank for reductions in two hops. Ranks are numbered node by node;
// `within` are the ranks of this node, `across` those with the same number in all nodes.
struct NodeGroups {
  ProcessGroup all;
  ProcessGroup within;
  ProcessGroup across;

  // of makes them from consecutive members of a group. Raises a ValueError unless the number of
  // members of a node divides the number of all members.
  static NodeGroups of(const ProcessGroup& group, std::int64_t ranks_per_node);

  std::int64_t ranks() const { return within.size() * across.size(); }
};

// can_reduce_quantized is true if a gradient of that shape can be reduced in 4 bits: it has at
// least two dims, and its number of elements is a multiple of twice the number of ranks. DeepSpeed
// reduces others unquantised.
bool can_reduce_quantized(DimSpan shape, std::int64_t ranks);

// hop_order is the order in which the parts of a gradient are sent: part number i belongs to rank
// i, and parts for one rank within a node are neighbours. For two nodes of four ranks: 0, 4, 1, 5,
// 2, 6, 3, 7.
std::vector<std::int64_t> hop_order(std::int64_t nodes, std::int64_t ranks_per_node);

// reduce_quantized returns this rank's part, the mean over all ranks, of a gradient: flat, in the
// gradient's dtype. Two all-to-alls, of codes and of scales each, within the node and across:
// - The parts, in hop_order, are quantised to 4 bits in max(dim 0, dim 1, ranks) groups; where a
//   group would reach beyond a part, in fewer, so that none does.
// - The parts from the ranks of the node are dequantised and added up in float16, in rank order.
// - The sum is quantised again, in as many groups as before over the ranks of a node, sent across,
//   dequantised, and added up in float16 in the order of the nodes.
// The sum is divided by the number of ranks. DeepSpeed divides by the number of nodes only, so its
// gradients of matrices are too large by the number of ranks of a node.
Tensor reduce_quantized(const Tensor& gradient, const NodeGroups& groups);

}  // namespace simmesh::zero
