#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/box.h"
#include "checkpoint/catalog/flat_range.h"

namespace simmesh::checkpoint {

// FlexShard is a rank's part of a tensor, as in Paddle's flexible checkpoints: a box, or a range of
// its elements.
struct FlexShard {
  std::string key;
  Shape global_shape;
  Box box;  // the whole tensor if there is a range
  std::optional<FlatRange> range = {};

  bool operator==(const FlexShard&) const = default;
  bool is_empty() const;
  // The shape in the rank's memory.
  Shape local_shape() const;
};

// FlexStorage names the rank whose file has a shard. Files of other ranks may have copies.
struct FlexStorage {
  FlexShard shard;
  std::size_t rank = 0;
  int replica = 0;  // the copy with number 0 is read
};

// plan_flex_save goes through the ranks in order, and through their shards in the order of the
// state dict. A shard that several ranks hold goes to the rank whose file has the fewest entries so
// far, the lowest of equal ones. With save_replicas every holder stores it.
std::vector<FlexStorage> plan_flex_save(const std::vector<std::vector<FlexShard>>& shards_of_ranks,
                                        bool save_replicas);

// FlexRead copies a box of elements from a stored shard into one that is loaded.
struct FlexRead {
  std::size_t storage = 0;  // the index in the list of the save plan
  std::size_t reader = 0;   // the rank that reads the file
  std::size_t rank = 0;     // the rank that wants the elements
  std::size_t shard = 0;    // the index among that rank's shards
  Dims from, to;            // offsets in the stored and in the wanted box
  Shape sizes;
};

// FlexLoadPlan has the files that each rank reads, and the copies from them.
struct FlexLoadPlan {
  // True if each rank finds exactly what it wants in its own file. Then the plan is empty.
  bool is_local = false;
  std::vector<std::vector<std::size_t>> files;  // the ranks whose files each rank reads
  std::vector<FlexRead> reads;
};

// plan_flex_load intersects each wanted shard with each stored one. A file is read once. Files that
// fewer ranks want come first, then those of lower ranks. A file goes to the rank among those that
// want it that reads the fewest so far, the lowest of equal ones. If a range is stored or wanted,
// each read is a box whose elements lie together in it.
FlexLoadPlan plan_flex_load(const std::vector<FlexStorage>& stored,
                            const std::vector<std::vector<FlexShard>>& wanted_by_ranks);

}  // namespace simmesh::checkpoint
