#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"
#include "sharding/placement/shard_order.h"

namespace simmesh {

// ShardState is a sharding in two bytes per mesh dim, as the graph planner searches among them. A
// code is 0 for R, 1 + d for S(d), and beyond that a partial placement or a strided shard. A place
// is the position of the mesh dim in the order of its tensor dim (0 where it doesn't split one).
// Mesh dims that aren't there are zero.
struct ShardState {
  struct Entry {
    std::uint8_t code;
    std::uint8_t place;

    bool operator==(const Entry&) const = default;
  };
  Entry at[dims_max];
};

// PlacementCodes translates between shardings and states. It knows R, a plain shard of each tensor
// dim, the partial placements of two shardings, by name, and after them their strided shards.
class PlacementCodes {
 public:
  PlacementCodes(const Sharding& from, const Sharding& to, std::int64_t tensor_dims);

  // size is the number of codes.
  std::size_t size() const { return placements_.size(); }
  const Placement& placement(std::size_t code) const { return placements_[code]; }

  bool is_shard(std::size_t code) const { return code > 0 && code <= tensor_dims_; }
  bool is_partial(std::size_t code) const { return code > tensor_dims_ && code < strided_; }
  // first_strided is the code of the first strided shard.
  std::size_t first_strided() const { return strided_; }
  bool is_strided(std::size_t code) const { return code >= strided_; }

  // shard_of returns the code of the plain shard of the same tensor dim; 0 for a code that splits
  // none.
  std::size_t shard_of(std::size_t code) const {
    if (is_strided(code)) return static_cast<std::size_t>(placements_[code].dim()) + 1;
    return is_shard(code) ? code : 0;
  }

  // encoded expects placements that have a code.
  ShardState encoded(const Sharding& sharding) const;
  // decoded is the inverse of encoded.
  Sharding decoded(const ShardState& state) const;

 private:
  std::vector<Placement> placements_;
  std::size_t tensor_dims_;
  std::size_t mesh_dims_;
  std::size_t strided_;
};

// ShardStateTable numbers states from 0 in the order in which they are first seen. Nothing iterates
// over it, so its hash affects no result.
class ShardStateTable {
 public:
  explicit ShardStateTable(std::size_t mesh_dims);

  // size is the number of states seen.
  std::size_t size() const { return keys_.size() / words_; }

  // number returns the state's number, which is the size before the call where the state is new.
  std::uint32_t number(const ShardState& state);

  // state returns the state of a number below size.
  ShardState state(std::uint32_t number) const;

 private:
  std::size_t slot_of(const std::uint64_t* key) const;
  void grow();

  std::size_t words_;  // of one key
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> slots_;  // open addressing
};

}  // namespace simmesh
