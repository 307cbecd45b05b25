#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"
#include "sharding/placement/shard_order.h"

// The piece that each rank must hold, worked out the long way: every index is a number in a list.
// Nothing here calls the library's own rules.
namespace simmesh::oracle {

using Indices = std::vector<std::int64_t>;

// part returns the i-th of `members` parts of a list: parts of ceil(size / members), until nothing
// is left.
inline Indices part(const Indices& list, std::int64_t members, std::int64_t i) {
  auto size = std::int64_t(list.size());
  std::int64_t length = (size + members - 1) / members;
  Indices result;
  for (std::int64_t at = 0; at < size; ++at)
    if (length > 0 && at / length == i) result.push_back(list[std::size_t(at)]);
  return result;
}

// share returns the part of a list that one placement leaves to the i-th of `members` ranks.
// _S(d,sf) takes the i-th part of each of the sf parts.
inline Indices share(const Indices& list, const Placement& split, std::int64_t members,
                     std::int64_t i) {
  Indices result;
  for (std::int64_t piece = 0; piece < split.split_factor(); ++piece)
    for (std::int64_t index : part(part(list, split.split_factor(), piece), members, i))
      result.push_back(index);
  return result;
}

// indices returns the indices of one tensor dim that a coordinate holds: the placements apply from
// the first mesh dim to the last, or in the given order.
inline Indices indices(std::int64_t size, std::int64_t tensor_dim, DimSpan mesh_shape,
                       DimSpan coordinate, const Sharding& sharding) {
  Dims order;
  for (std::size_t dim = 0; dim < mesh_shape.size(); ++dim)
    if (sharding.placements[dim].splits(tensor_dim)) order.push_back(std::int64_t(dim));
  for (const ShardOrder::Entry& entry : sharding.order.entries())
    if (entry.tensor_dim == tensor_dim) order = entry.mesh_dims;
  Indices held;
  for (std::int64_t index = 0; index < size; ++index) held.push_back(index);
  for (std::int64_t dim : order)
    held = share(held, sharding.placements[std::size_t(dim)], mesh_shape[std::size_t(dim)],
                 coordinate[std::size_t(dim)]);
  return held;
}

// local returns the piece of a coordinate of a logical tensor whose element is f(global index).
template <class T, class F>
Tensor local(DimSpan shape, DimSpan mesh_shape, DimSpan coordinate, const Sharding& sharding, F f) {
  std::vector<Indices> held;
  Shape sizes;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    held.push_back(indices(shape[dim], std::int64_t(dim), mesh_shape, coordinate, sharding));
    sizes.push_back(std::int64_t(held.back().size()));
  }
  Tensor result = empty(sizes, dtype_of<T>);
  Dims at(shape.size(), 0);
  for (T& value : result.mutable_values<T>()) {
    std::int64_t global = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      global = global * shape[dim] + held[dim][std::size_t(at[dim])];
    value = f(global);
    next_index(at, sizes);
  }
  return result;
}

// local_index returns the piece of the tensor whose element is its own global index.
inline Tensor local_index(DimSpan shape, DimSpan mesh_shape, DimSpan coordinate,
                          const Sharding& sharding) {
  return local<std::int64_t>(shape, mesh_shape, coordinate, sharding,
                             [](std::int64_t global) { return global; });
}

}  // namespace simmesh::oracle
