#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/catalog/box.h"

namespace simmesh::checkpoint {

// SaveItem is a value that a rank could write: a box of a tensor, or an object without a box.
struct SaveItem {
  std::string name;
  Box box;
  // The cost of the item, for an even share of the writing.
  std::int64_t weight = 0;
};

// SavePlan assigns items to the ranks that write them.
struct SavePlan {
  // For each rank, the indices of the items that it writes, ascending.
  std::vector<std::vector<std::size_t>> items;
};

// plan_save assigns each box to one of its holders: the rank with the least to write so far, and of
// equal ones the first in set_order, which is the lowest one below 8 ranks. Boxes are equal if the
// tensor's name and the offsets are. They are assigned in the order in which they first appear,
// rank by rank, as in torch.distributed.checkpoint.
SavePlan plan_save(const std::vector<std::vector<SaveItem>>& items_of_ranks);

}  // namespace simmesh::checkpoint
