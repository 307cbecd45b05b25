#pragma once

#include <vector>

#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// HierarchicalExchange is an all-to-all in two steps for ranks on nodes of equal size: first within
// each node, where what goes to place l of any node comes together at the own node's place l; then
// between the ranks of one place. So a rank sends one message a node and one a place instead of one
// a rank, and each element crosses between nodes once.
class HierarchicalExchange {
 public:
  // Makes the groups of this rank: neighbouring members of `group` are a node. Raises a ValueError
  // unless ranks_per_node divides the group.
  HierarchicalExchange(const ProcessGroup& group, std::int64_t ranks_per_node);

  // run returns, from each member, the tensor that it had for this one, as all_to_all_list does.
  // Tensors have one dtype and as many dims; they differ in dim 0 only.
  std::vector<Tensor> run(const std::vector<Tensor>& pieces) const;

 private:
  ProcessGroup node_, place_;
};

}  // namespace simmesh
