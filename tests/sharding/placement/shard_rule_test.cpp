#include "sharding/placement/shard_rule.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"

namespace simmesh {
namespace {

std::vector<std::int64_t> indices(const IndexRuns& runs) {
  std::vector<std::int64_t> list;
  for (const IndexRun& run : runs)
    for (std::int64_t index = run.start; index < run.end(); ++index) list.push_back(index);
  return list;
}

std::vector<std::int64_t> share(std::int64_t size, const Placement& split, Share of) {
  IndexRuns whole;
  append_run(whole, {0, size});
  return indices(take_share(whole, split, of));
}

using List = std::vector<std::int64_t>;

// If this fails, chunks are not those of torch.chunk: c = ceil(n/k), the last ones may be empty.
TEST(ShardRule, ChunksAreThoseOfTorch) {
  for (std::int64_t size = 0; size <= 17; ++size) {
    for (std::int64_t members = 1; members <= 8; ++members) {
      const std::int64_t step = (size + members - 1) / members;
      for (std::int64_t index = 0; index < members; ++index) {
        const IndexRun run = chunk(size, {members, index});
        EXPECT_EQ(run.start, std::min(step * index, size));
        EXPECT_EQ(run.end(), std::min(step * (index + 1), size));
      }
    }
  }
}

// If this fails, huge dims or groups overflow.
TEST(ShardRule, HugeSizesDoNotOverflow) {
  const auto huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(chunk(huge, {2, 1}), (IndexRun{huge / 2 + 1, huge / 2}));
  EXPECT_EQ(chunk(5, {huge, huge - 1}).length, 0);
  EXPECT_EQ(chunk(huge, {huge, huge - 1}), (IndexRun{huge - 1, 1}));
}

// If this fails, strided shards are cut in another way than split_factor chunks, each over all
// ranks.
TEST(ShardRule, StridedSharesTakeTheirPartOfEveryChunk) {
  EXPECT_EQ(share(5, StridedShard(0, 2), {2, 0}), (List{0, 1, 3}));
  EXPECT_EQ(share(5, StridedShard(0, 2), {2, 1}), (List{2, 4}));
  EXPECT_EQ(share(13, StridedShard(0, 3), {2, 0}), (List{0, 1, 2, 5, 6, 7, 10, 11}));
  EXPECT_EQ(share(4, StridedShard(0, 1), {2, 1}), share(4, Shard(0), {2, 1}));
  EXPECT_EQ(share(3, StridedShard(0, 1'000'000'000'000), {2, 0}), (List{0, 1, 2}));
}

// If this fails, ragged units land on other ranks, or lengths that don't fit pass silently.
TEST(ShardRule, RaggedSharesFollowTheUnits) {
  const Placement split = RaggedShard({1, 0, 2});
  EXPECT_EQ(share(6, split, {3, 0}), (List{0, 1}));
  EXPECT_EQ(share(6, split, {3, 1}), (List{}));
  EXPECT_EQ(share(6, split, {3, 2}), (List{2, 3, 4, 5}));
  EXPECT_EQ(share(0, split, {3, 2}), (List{}));
  EXPECT_EQ(share(0, RaggedShard({0, 0}), {2, 1}), (List{}));
  EXPECT_THROW(share(5, split, {3, 0}), Error);
  EXPECT_THROW(share(6, split, {2, 0}), Error);
  EXPECT_THROW(share(6, RaggedShard({0, 0}), {2, 0}), Error);
}

// If this fails, nested splits mix up local and global positions.
TEST(ShardRule, NestedSharesKeepGlobalIndices) {
  IndexRuns piece;
  append_run(piece, {0, 2});
  append_run(piece, {4, 3});
  append_run(piece, {7, 1});
  EXPECT_EQ(piece.size(), 2u);
  EXPECT_EQ(indices(take_share(piece, Shard(0), {2, 0})), (List{0, 1, 4}));
  EXPECT_EQ(indices(take_share(piece, Shard(0), {2, 1})), (List{5, 6, 7}));
  EXPECT_EQ(indices(take_share(piece, StridedShard(0, 2), {3, 1})), (List{1, 6}));
}

// If this fails, the shares of one split lose or repeat an index, or runs are not in canonical
// form.
TEST(ShardRule, SharesPartitionThePiece) {
  for (std::int64_t size = 0; size <= 17; ++size) {
    for (std::int64_t members = 1; members <= 8; ++members) {
      std::vector<Placement> splits = {Shard(0)};
      for (std::int64_t factor = 1; factor <= 6; ++factor)
        splits.push_back(StridedShard(0, factor));
      for (const Placement& split : splits) {
        std::vector<std::int64_t> all;
        for (std::int64_t index = 0; index < members; ++index) {
          IndexRuns whole;
          append_run(whole, {0, size});
          const IndexRuns runs = take_share(whole, split, {members, index});
          for (std::size_t run = 0; run < runs.size(); ++run) {
            EXPECT_GT(runs[run].length, 0);
            if (run > 0) {
              EXPECT_NE(runs[run - 1].end(), runs[run].start);
            }
          }
          for (std::int64_t each : indices(runs)) all.push_back(each);
        }
        std::sort(all.begin(), all.end());
        std::vector<std::int64_t> expected(static_cast<std::size_t>(size));
        for (std::int64_t index = 0; index < size; ++index)
          expected[static_cast<std::size_t>(index)] = index;
        EXPECT_EQ(all, expected) << size << " " << members << " " << to_string(split);
      }
    }
  }
}

// If this fails, a reduce-scatter could be merged although some rank's piece doesn't divide.
TEST(ShardRule, NestedChunkSizesAreThoseOfAllRanks) {
  for (std::int64_t size = 0; size <= 17; ++size) {
    for (std::int64_t outer = 1; outer <= 5; ++outer) {
      for (std::int64_t inner = 1; inner <= 5; ++inner) {
        ChunkSizes expected;
        for (std::int64_t first = 0; first < outer; ++first)
          for (std::int64_t second = 0; second < inner; ++second)
            expected.push_back(chunk(chunk(size, {outer, first}).length, {inner, second}).length);
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        EXPECT_EQ(nested_chunk_sizes(size, Dims{outer, inner}), expected);
      }
    }
  }
}

}  // namespace
}  // namespace simmesh
