#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/box.h"
#include "checkpoint/catalog/flat_range.h"

namespace simmesh::checkpoint {

// FlexShard is what a rank holds of a tensor, in the words of Paddle's flexible checkpoints: a box,
// or a range of its elements.
struct FlexShard {
  std::string key;
  Shape global_shape;
  Box box;  // all of the tensor where there is a range
  std::optional<FlatRange> range = {};

  bool operator==(const FlexShard&) const = default;
  bool is_empty() const;
  // The shape in the rank's memory.
  Shape local_shape() const;
};

// FlexStorage says in which rank's file a shard lies. Copies of it may lie in others.
struct FlexStorage {
  FlexShard shard;
  std::size_t rank = 0;
  int replica = 0;  // 0 is the one that is read
};

// plan_flex_save goes through the ranks in order, and through their shards in the order of the
// state dict. A shard that several ranks hold goes to the one whose file has the fewest entries so
// far, the lowest one of equal ones; with save_replicas the others store it too, and nobody counts.
std::vector<FlexStorage> plan_flex_save(const std::vector<std::vector<FlexShard>>& shards_of_ranks,
                                        bool save_replicas);

// FlexRead copies a box of elements from a stored shard into one that is loaded.
struct FlexRead {
  std::size_t storage = 0;  // in the list of the save plan
  std::size_t reader = 0;   // the rank that reads the file
  std::size_t rank = 0;     // the rank that wants the elements
  std::size_t shard = 0;    // among that rank's
  Dims from, to;            // within the stored and the wanted box
  Shape sizes;
};

// FlexLoadPlan is who reads which files, and what goes where.
struct FlexLoadPlan {
  // Whether each rank finds all that it wants, as it is, in its own file; there is no plan then.
  bool is_local = false;
  std::vector<std::vector<std::size_t>> files;  // of which ranks, for each rank that reads
  std::vector<FlexRead> reads;
};

// plan_flex_load intersects each wanted shard with each stored one. A file is read once: files that
// fewer ranks want come first, then those of lower ranks; each goes to the wanting rank that reads
// the fewest so far, the lowest of equal ones. Where a range is stored or wanted, reads are those
// of boxes whose elements lie together in it.
FlexLoadPlan plan_flex_load(const std::vector<FlexStorage>& stored,
                            const std::vector<std::vector<FlexShard>>& wanted_by_ranks);

}  // namespace simmesh::checkpoint
