#pragma once

#include <algorithm>
#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/placement/shard_order.h"

namespace simmesh::small_worlds {

// lists enumerates all placement lists of a mesh with so many dims over an alphabet.
inline std::vector<Placements> lists(std::size_t mesh_dims, const Placements& alphabet) {
  std::vector<Placements> result = {{}};
  for (std::size_t dim = 0; dim < mesh_dims; ++dim) {
    std::vector<Placements> longer;
    for (const Placements& list : result) {
      for (const Placement& placement : alphabet) {
        longer.push_back(list);
        longer.back().push_back(placement);
      }
    }
    result = std::move(longer);
  }
  return result;
}

// shardings enumerates the lists with every shard order of tensor dims 0 and 1.
inline std::vector<Sharding> shardings(std::size_t mesh_dims, const Placements& alphabet) {
  std::vector<Sharding> result;
  for (const Placements& list : lists(mesh_dims, alphabet)) {
    Dims rows = ShardOrder().mesh_dims(0, list);
    do {
      Dims columns = ShardOrder().mesh_dims(1, list);
      do {
        result.push_back({list, ShardOrder::of({{0, rows}, {1, columns}}, list)});
      } while (std::next_permutation(columns.begin(), columns.end()));
    } while (std::next_permutation(rows.begin(), rows.end()));
  }
  return result;
}

}  // namespace simmesh::small_worlds
