#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"

namespace simmesh {

// ShardOrder is the order in which mesh dims split a tensor dim, for each tensor dim that several
// of them split. By default the order is ascending, and only deviations are kept, so that equal
// orders compare equal.
//
//   // Mesh dim 1 cuts tensor dim 0 first, mesh dim 0 then cuts the pieces.
//   ShardOrder order = ShardOrder::of({{.tensor_dim = 0, .mesh_dims = {1, 0}}}, placements);
class ShardOrder {
 public:
  // Entry is a tensor dim and the mesh dims that cut it.
  struct Entry {
    std::int64_t tensor_dim;
    Dims mesh_dims;  // in order of application

    bool operator==(const Entry&) const = default;
  };

  ShardOrder() = default;

  // of returns the canonical form of the entries. A tensor dim without an entry is in ascending
  // order. Raises a ValueError where an entry does not list each mesh dim that splits its tensor
  // dim exactly once, and where a strided shard would be applied out of order (its split factor
  // already encodes an order).
  static ShardOrder of(std::vector<Entry> entries, PlacementSpan placements);

  bool is_ascending() const { return entries_.empty(); }

  // entries lists the tensor dims whose order is not ascending, by tensor dim.
  gsl::span<const Entry> entries() const { return entries_; }

  // entry returns the mesh dims of a tensor dim in order of application; empty where they are
  // ascending.
  const Dims* entry(std::int64_t tensor_dim) const;

  // mesh_dims returns the mesh dims that split tensor_dim in these placements, in order of
  // application.
  Dims mesh_dims(std::int64_t tensor_dim, PlacementSpan placements) const;

  bool operator==(const ShardOrder&) const = default;

 private:
  std::vector<Entry> entries_;
};

// Sharding is how a tensor is sharded over a mesh: one placement a mesh dim, and the order of the
// shards.
struct Sharding {
  Placements placements;
  ShardOrder order;

  bool operator==(const Sharding&) const = default;
};

// to_string returns the list of placements; in a tensor dim that is not split in ascending order
// each shard is followed by its place in the order: "S(0)[1],S(0)[0]".
std::string to_string(const Sharding& sharding);

// decode_strided writes strided shards as plain ones with a shard order: walking the mesh dims from
// the last to the first, a mesh dim is inserted into its tensor dim's order at the first place
// where the sizes of the mesh dims before it multiply to its split factor (1 for a plain shard).
// The result is empty where some mesh dim has no such place. The pieces are those of the strided
// shards if the dim divides evenly; otherwise compare them (see same_pieces).
std::optional<Sharding> decode_strided(const Sharding& sharding, DimSpan mesh_shape);

}  // namespace simmesh
