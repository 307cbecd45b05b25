#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/catalog/box.h"

namespace simmesh::checkpoint {

// SaveItem is a value that a rank holds and could write: a box of a tensor, or an object, which has
// no box.
struct SaveItem {
  std::string name;
  Box box;
  // What the item counts when ranks share the writing.
  std::int64_t weight = 0;
};

// SavePlan says which rank writes what.
struct SavePlan {
  // For each rank, which of its items it writes, in the order of the items.
  std::vector<std::vector<std::size_t>> items;
};

// plan_save gives each box that several ranks hold, known by the tensor's name and the box's
// offsets, to the rank that has the least to write so far, the lowest one of equal ones. Boxes are
// taken in the order in which they first appear, rank by rank, as torch.distributed.checkpoint
// takes them.
SavePlan plan_save(const std::vector<std::vector<SaveItem>>& items_of_ranks);

}  // namespace simmesh::checkpoint
