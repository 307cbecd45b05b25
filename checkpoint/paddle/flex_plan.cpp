#include "checkpoint/paddle/flex_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace simmesh::checkpoint {

bool FlexShard::is_empty() const { return range ? range->numel() == 0 : box.is_empty(); }

Shape FlexShard::local_shape() const { return range ? Shape{range->numel()} : box.sizes; }

std::vector<FlexStorage> plan_flex_save(const std::vector<std::vector<FlexShard>>& shards_of_ranks,
                                        bool save_replicas) {
  std::vector<FlexStorage> storage;
  std::vector<std::size_t> entries(shards_of_ranks.size(), 0);
  std::vector<const FlexShard*> known;
  auto is_known = [&](const FlexShard& shard) {
    return std::any_of(known.begin(), known.end(),
                       [&](const FlexShard* other) { return *other == shard; });
  };
  for (const std::vector<FlexShard>& shards : shards_of_ranks)
    for (const FlexShard& shard : shards) {
      if (is_known(shard)) continue;
      known.push_back(&shard);
      std::vector<std::size_t> holders;
      for (std::size_t rank = 0; rank < shards_of_ranks.size(); ++rank) {
        const auto& own = shards_of_ranks[rank];
        if (std::find(own.begin(), own.end(), shard) != own.end()) holders.push_back(rank);
      }
      auto main = std::min_element(holders.begin(), holders.end(),
                                   [&](auto a, auto b) { return entries[a] < entries[b]; });
      ++entries[*main];
      storage.push_back({shard, *main, 0});
      if (!save_replicas) continue;
      int replica = 0;
      for (std::size_t rank : holders)
        if (rank != *main) storage.push_back({shard, rank, ++replica});
    }
  return storage;
}

namespace {

// PlacedBox is a box of a shard, and the place of its first element in the shard's memory.
struct PlacedBox {
  Box box;
  Dims at;
};

std::vector<PlacedBox> placed_boxes(const FlexShard& shard) {
  if (!shard.range) {
    if (shard.box.is_empty()) return {};
    return {{shard.box, Dims(shard.box.sizes.size(), 0)}};
  }
  std::vector<PlacedBox> placed;
  std::int64_t at = 0;
  for (Box& box : boxes_of_range(shard.global_shape, *shard.range)) {
    std::int64_t count = box.numel();
    placed.push_back({std::move(box), {at}});
    at += count;
  }
  return placed;
}

// Returns the files that each rank wants: those with a main replica of a tensor that it needs.
std::vector<std::vector<std::size_t>> wanting_ranks(
    const std::vector<FlexStorage>& stored,
    const std::vector<std::vector<FlexShard>>& wanted_by_ranks) {
  std::size_t files = wanted_by_ranks.size();
  for (const FlexStorage& storage : stored) files = std::max(files, storage.rank + 1);
  std::vector<std::vector<std::size_t>> wanting(files);
  for (std::size_t rank = 0; rank < wanted_by_ranks.size(); ++rank)
    for (const FlexStorage& storage : stored) {
      std::vector<std::size_t>& ranks = wanting[storage.rank];
      auto is_wanted = [&](const FlexShard& shard) { return shard.key == storage.shard.key; };
      const std::vector<FlexShard>& wanted = wanted_by_ranks[rank];
      if (storage.replica == 0 && (ranks.empty() || ranks.back() != rank) &&
          std::any_of(wanted.begin(), wanted.end(), is_wanted))
        ranks.push_back(rank);
    }
  return wanting;
}

// Returns the begin of a part of a placed box in the shard's memory.
Dims place_within(const Box& part, const PlacedBox& placed) {
  Dims inner = relative_to(part, placed.box).offsets;
  if (placed.at.size() == inner.size() && placed.at == Dims(inner.size(), 0)) return inner;
  // The elements of a box are contiguous in a range.
  Strides strides = contiguous_strides(placed.box.sizes);
  return Dims{placed.at[0] + element_offset(inner, strides)};
}

// Returns the number of leading dims of a box that are taken index by index, so that its elements
// are contiguous in the memory of an outer box.
std::size_t dims_taken_singly(const Box& inner, const Box& outer) {
  std::size_t dim = inner.sizes.size();
  while (dim > 0 && inner.sizes[dim - 1] == outer.sizes[dim - 1]) --dim;
  return dim == 0 ? 0 : dim - 1;
}

std::vector<Box> taken_singly(const Box& box, std::size_t dims) {
  std::vector<Box> boxes;
  Shape singles(box.sizes.begin(), box.sizes.begin() + std::ptrdiff_t(dims));
  Dims index(dims, 0);
  do {
    Box part = box;
    for (std::size_t dim = 0; dim < dims; ++dim) {
      part.offsets[dim] += index[dim];
      part.sizes[dim] = 1;
    }
    boxes.push_back(std::move(part));
  } while (next_index(index, singles));
  return boxes;
}

std::vector<FlexRead> intersections(const std::vector<FlexStorage>& stored,
                                    const std::vector<std::vector<FlexShard>>& wanted_by_ranks) {
  std::vector<FlexRead> reads;
  for (std::size_t rank = 0; rank < wanted_by_ranks.size(); ++rank)
    for (std::size_t i = 0; i < wanted_by_ranks[rank].size(); ++i)
      for (std::size_t s = 0; s < stored.size(); ++s) {
        if (stored[s].replica != 0 || stored[s].shard.key != wanted_by_ranks[rank][i].key) continue;
        for (const PlacedBox& want : placed_boxes(wanted_by_ranks[rank][i]))
          for (const PlacedBox& have : placed_boxes(stored[s].shard)) {
            auto common = intersection(want.box, have.box);
            if (!common) continue;
            std::size_t singles = 0;
            if (wanted_by_ranks[rank][i].range) singles = dims_taken_singly(*common, want.box);
            if (stored[s].shard.range)
              singles = std::max(singles, dims_taken_singly(*common, have.box));
            for (const Box& part : taken_singly(*common, singles))
              reads.push_back(
                  {s, 0, rank, i, place_within(part, have), place_within(part, want), part.sizes});
          }
      }
  return reads;
}

bool is_local(const std::vector<FlexStorage>& stored,
              const std::vector<std::vector<FlexShard>>& wanted_by_ranks) {
  for (std::size_t rank = 0; rank < wanted_by_ranks.size(); ++rank)
    for (const FlexShard& shard : wanted_by_ranks[rank])
      if (std::none_of(stored.begin(), stored.end(), [&](const FlexStorage& storage) {
            return storage.rank == rank && storage.shard == shard;
          }))
        return false;
  return true;
}

}  // namespace

FlexLoadPlan plan_flex_load(const std::vector<FlexStorage>& stored,
                            const std::vector<std::vector<FlexShard>>& wanted_by_ranks) {
  FlexLoadPlan plan;
  plan.is_local = is_local(stored, wanted_by_ranks);
  plan.reads = intersections(stored, wanted_by_ranks);
  std::vector<std::vector<std::size_t>> wanting = wanting_ranks(stored, wanted_by_ranks);
  std::vector<std::size_t> files(wanting.size());
  std::iota(files.begin(), files.end(), std::size_t{0});
  std::stable_sort(files.begin(), files.end(), [&](std::size_t a, std::size_t b) {
    return wanting[a].size() < wanting[b].size();
  });
  plan.files.resize(wanted_by_ranks.size());
  std::vector<std::size_t> reader(wanting.size(), 0);
  for (std::size_t file : files) {
    if (wanting[file].empty()) continue;
    auto least = std::min_element(
        wanting[file].begin(), wanting[file].end(), [&](std::size_t a, std::size_t b) {
          return std::pair(plan.files[a].size(), a) < std::pair(plan.files[b].size(), b);
        });
    reader[file] = *least;
    plan.files[*least].push_back(file);
  }
  for (FlexRead& read : plan.reads) read.reader = reader[stored[read.storage].rank];
  return plan;
}

}  // namespace simmesh::checkpoint
