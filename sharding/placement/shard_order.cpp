#include "sharding/placement/shard_order.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh {
namespace {

Dims ascending_mesh_dims(std::int64_t tensor_dim, PlacementSpan placements) {
  Dims mesh_dims;
  for (std::size_t mesh_dim = 0; mesh_dim < placements.size(); ++mesh_dim)
    if (placements[mesh_dim].splits(tensor_dim))
      mesh_dims.push_back(static_cast<std::int64_t>(mesh_dim));
  return mesh_dims;
}

}  // namespace

ShardOrder ShardOrder::of(std::vector<Entry> entries, PlacementSpan placements) {
  const auto by_tensor_dim = [](const Entry& left, const Entry& right) {
    return left.tensor_dim < right.tensor_dim;
  };
  std::stable_sort(entries.begin(), entries.end(), by_tensor_dim);
  ShardOrder order;
  for (std::size_t index = 0; index < entries.size(); ++index) {
    Entry& entry = entries[index];
    const bool twice = index > 0 && entries[index - 1].tensor_dim == entry.tensor_dim;
    const Dims ascending = ascending_mesh_dims(entry.tensor_dim, placements);
    Dims sorted = entry.mesh_dims;
    std::sort(sorted.begin(), sorted.end());
    if (twice || sorted != ascending)
      raise(ErrorKind::value_error, "sharding/shard_order",
            "expected the mesh dims {} of tensor dim {} once each in some order, got {}{} for {}",
            to_string(ascending), entry.tensor_dim, to_string(entry.mesh_dims),
            twice ? " as a second entry" : "", to_string(placements));
    if (entry.mesh_dims == ascending) continue;
    for (std::int64_t mesh_dim : entry.mesh_dims)
      if (placements[mesh_dim].is_strided_shard())
        raise(ErrorKind::value_error, "sharding/shard_order",
              "expected either an order or strided shards in tensor dim {}, got both: {} for {}",
              entry.tensor_dim, to_string(entry.mesh_dims), to_string(placements));
    order.entries_.push_back(std::move(entry));
  }
  return order;
}

const Dims* ShardOrder::entry(std::int64_t tensor_dim) const {
  for (const Entry& entry : entries_)
    if (entry.tensor_dim == tensor_dim) return &entry.mesh_dims;
  return nullptr;
}

Dims ShardOrder::mesh_dims(std::int64_t tensor_dim, PlacementSpan placements) const {
  const Dims* explicit_order = entry(tensor_dim);
  return explicit_order ? *explicit_order : ascending_mesh_dims(tensor_dim, placements);
}

std::string to_string(const Sharding& sharding) {
  std::string text;
  for (std::size_t mesh_dim = 0; mesh_dim < sharding.placements.size(); ++mesh_dim) {
    const Placement& placement = sharding.placements[mesh_dim];
    if (mesh_dim > 0) text += ',';
    text += to_string(placement);
    const Dims* order = placement.splits() ? sharding.order.entry(placement.dim()) : nullptr;
    if (!order) continue;
    const auto place = std::find(order->begin(), order->end(), static_cast<std::int64_t>(mesh_dim));
    text += fmt::format("[{}]", place - order->begin());
  }
  return text;
}

std::optional<Sharding> decode_strided(const Sharding& sharding, DimSpan mesh_shape) {
  Sharding decoded = sharding;
  std::vector<ShardOrder::Entry> entries;
  bool any = false;
  for (std::size_t mesh_dim = sharding.placements.size(); mesh_dim-- > 0;) {
    const Placement& placement = sharding.placements[mesh_dim];
    if (!placement.is_shard() && !placement.is_strided_shard()) continue;
    any |= placement.is_strided_shard();
    auto entry = std::find_if(entries.begin(), entries.end(), [&](const ShardOrder::Entry& each) {
      return each.tensor_dim == placement.dim();
    });
    if (entry == entries.end()) entry = entries.insert(entry, {placement.dim(), {}});
    auto place = entry->mesh_dims.begin();
    std::int64_t before = 1;
    for (; before != placement.split_factor() && place != entry->mesh_dims.end(); ++place)
      if (__builtin_mul_overflow(before, mesh_shape[*place], &before)) return std::nullopt;
    if (before != placement.split_factor()) return std::nullopt;
    entry->mesh_dims.insert(place, static_cast<std::int64_t>(mesh_dim));
    decoded.placements[mesh_dim] = Shard(placement.dim());
  }
  if (!any) return sharding;
  decoded.order = ShardOrder::of(std::move(entries), decoded.placements);
  return decoded;
}

}  // namespace simmesh
