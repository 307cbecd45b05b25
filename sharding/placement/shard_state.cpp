#include "sharding/placement/shard_state.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/check/check.h"

namespace simmesh {
namespace {

constexpr std::size_t words_max = sizeof(ShardState) / sizeof(std::uint64_t);
constexpr std::uint32_t empty_slot = std::numeric_limits<std::uint32_t>::max();

}  // namespace

PlacementCodes::PlacementCodes(const Sharding& from, const Sharding& to, std::int64_t tensor_dims)
    : tensor_dims_(static_cast<std::size_t>(tensor_dims)), mesh_dims_(from.placements.size()) {
  placements_.push_back(Replicate());
  for (std::int64_t dim = 0; dim < tensor_dims; ++dim) placements_.push_back(Shard(dim));
  for (const Sharding* sharding : {&from, &to})
    for (const Placement& placement : sharding->placements)
      if (placement.is_partial()) placements_.push_back(placement);
  const auto by_name = [](const Placement& left, const Placement& right) {
    if (left.is_plain_partial() && right.is_plain_partial())
      return to_string(left.reduce_op()) < to_string(right.reduce_op());
    return left < right;
  };
  const auto partial = placements_.begin() + tensor_dims + 1;
  std::sort(partial, placements_.end(), by_name);
  placements_.erase(std::unique(partial, placements_.end()), placements_.end());
  strided_ = placements_.size();
  for (const Sharding* sharding : {&from, &to})
    for (const Placement& placement : sharding->placements)
      if (placement.is_strided_shard()) placements_.push_back(placement);
  std::sort(placements_.begin() + std::ptrdiff_t(strided_), placements_.end());
  placements_.erase(std::unique(placements_.begin() + std::ptrdiff_t(strided_), placements_.end()),
                    placements_.end());
}

ShardState PlacementCodes::encoded(const Sharding& sharding) const {
  ShardState state{};
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_dims_; ++mesh_dim) {
    const Placement& placement = sharding.placements[mesh_dim];
    const auto found = std::find(placements_.begin(), placements_.end(), placement);
    SIMMESH_CHECK(found != placements_.end(), "no code for {}", to_string(placement));
    state.at[mesh_dim].code = static_cast<std::uint8_t>(found - placements_.begin());
  }
  for (std::size_t dim = 0; dim < tensor_dims_; ++dim) {
    std::uint8_t place = 0;
    for (std::int64_t mesh_dim :
         sharding.order.mesh_dims(static_cast<std::int64_t>(dim), sharding.placements))
      state.at[mesh_dim].place = place++;
  }
  return state;
}

Sharding PlacementCodes::decoded(const ShardState& state) const {
  Sharding sharding;
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_dims_; ++mesh_dim)
    sharding.placements.push_back(placements_[state.at[mesh_dim].code]);
  std::vector<ShardOrder::Entry> entries;
  for (std::size_t dim = 0; dim < tensor_dims_; ++dim) {
    const auto tensor_dim = static_cast<std::int64_t>(dim);
    Dims order = ShardOrder().mesh_dims(tensor_dim, sharding.placements);
    if (order.size() < 2) continue;
    std::sort(order.begin(), order.end(), [&](std::int64_t left, std::int64_t right) {
      return state.at[left].place < state.at[right].place;
    });
    entries.push_back({tensor_dim, std::move(order)});
  }
  sharding.order = ShardOrder::of(std::move(entries), sharding.placements);
  return sharding;
}

ShardStateTable::ShardStateTable(std::size_t mesh_dims)
    : words_((mesh_dims * sizeof(ShardState::Entry) + 7) / 8), slots_(256, empty_slot) {}

std::uint32_t ShardStateTable::number(const ShardState& state) {
  if (2 * size() >= slots_.size()) grow();
  std::uint64_t key[words_max];
  std::memcpy(key, &state, words_ * sizeof *key);
  std::size_t slot = slot_of(key);
  for (; slots_[slot] != empty_slot; slot = (slot + 1) & (slots_.size() - 1))
    if (std::equal(key, key + words_, &keys_[slots_[slot] * words_])) return slots_[slot];
  slots_[slot] = static_cast<std::uint32_t>(size());
  keys_.insert(keys_.end(), key, key + words_);
  return slots_[slot];
}

ShardState ShardStateTable::state(std::uint32_t number) const {
  ShardState state{};
  std::memcpy(&state, &keys_[number * words_], words_ * sizeof(std::uint64_t));
  return state;
}

std::size_t ShardStateTable::slot_of(const std::uint64_t* key) const {
  std::uint64_t hash = 0;
  for (std::size_t word = 0; word < words_; ++word) {
    hash = (hash ^ key[word]) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash) & (slots_.size() - 1);
}

void ShardStateTable::grow() {
  slots_ = std::vector<std::uint32_t>(4 * slots_.size(), empty_slot);
  for (std::uint32_t number = 0; number < size(); ++number) {
    std::size_t slot = slot_of(&keys_[number * words_]);
    while (slots_[slot] != empty_slot) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = number;
  }
}

}  // namespace simmesh
