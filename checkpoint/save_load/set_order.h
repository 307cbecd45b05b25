#pragma once

#include <cstddef>
#include <vector>

namespace simmesh::checkpoint {

// set_order returns the order in which CPython goes over a set that got these numbers one after
// the other: that of its hash table. torch.distributed.checkpoint keeps the ranks that hold a box
// in such a set, and takes the first of those that have equally much to write.
std::vector<std::size_t> set_order(const std::vector<std::size_t>& numbers);

}  // namespace simmesh::checkpoint
