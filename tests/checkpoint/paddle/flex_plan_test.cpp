#include "checkpoint/paddle/flex_plan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace simmesh::checkpoint {
namespace {

using Shards = std::vector<std::vector<FlexShard>>;

FlexShard box_shard(const Box& box) { return {"w", {3, 4}, box, {}}; }
FlexShard range_shard(std::int64_t begin, std::int64_t end) {
  return {"w", {3, 4}, whole(Shape{3, 4}), FlatRange{begin, end}};
}

// Returns the places of a shard's elements in the tensor, in the order of the rank's memory.
std::vector<std::int64_t> places_of(const FlexShard& shard) {
  std::vector<std::int64_t> places;
  if (shard.range) {
    places.resize(std::size_t(shard.range->numel()));
    std::iota(places.begin(), places.end(), shard.range->begin);
    return places;
  }
  for (std::int64_t i = shard.box.offsets[0]; i < shard.box.end(0); ++i)
    for (std::int64_t j = shard.box.offsets[1]; j < shard.box.end(1); ++j)
      places.push_back(4 * i + j);
  return places;
}

// Returns the place of element `index` of a read in a shard's memory.
std::size_t memory_place(const FlexShard& shard, const Dims& begin, const Dims& index,
                         const Shape& sizes) {
  if (shard.range) return std::size_t(begin[0] + index[0] * sizes[1] + index[1]);
  return std::size_t((begin[0] + index[0]) * shard.box.sizes[1] + begin[1] + index[1]);
}

// Returns layouts of two ranks: rows, columns, replicas, and ranges that cut within a row.
std::vector<Shards> layouts_of_two_ranks() {
  return {{{box_shard({{0, 0}, {2, 4}})}, {box_shard({{2, 0}, {1, 4}})}},
          {{box_shard({{0, 0}, {3, 1}})}, {box_shard({{0, 1}, {3, 3}})}},
          {{box_shard(whole(Shape{3, 4}))}, {box_shard(whole(Shape{3, 4}))}},
          {{box_shard(whole(Shape{3, 4}))}, {box_shard({{3, 0}, {0, 4}})}},
          {{range_shard(0, 5)}, {range_shard(5, 12)}},
          {{range_shard(0, 0)}, {range_shard(0, 12)}}};
}

// For every saved layout and every loaded one, the reads fill each element once, with its value.
TEST(FlexPlan, FillsEveryLayoutFromEveryOther) {
  for (const Shards& saved : layouts_of_two_ranks())
    for (const Shards& wanted : layouts_of_two_ranks())
      for (bool save_replicas : {false, true}) {
        std::vector<FlexStorage> stored = plan_flex_save(saved, save_replicas);
        FlexLoadPlan plan = plan_flex_load(stored, wanted);
        std::vector<std::vector<std::int64_t>> loaded;
        for (const auto& shards : wanted) loaded.emplace_back(places_of(shards[0]).size(), -1);
        for (const FlexRead& read : plan.reads) {
          const FlexShard& from = stored[read.storage].shard;
          const FlexShard& to = wanted[read.rank][read.shard];
          const auto& files = plan.files[read.reader];
          EXPECT_NE(std::find(files.begin(), files.end(), stored[read.storage].rank), files.end());
          Dims index = {0, 0};
          do {
            std::int64_t value = places_of(from)[memory_place(from, read.from, index, read.sizes)];
            std::int64_t& target = loaded[read.rank][memory_place(to, read.to, index, read.sizes)];
            ASSERT_EQ(target, -1) << "filled twice";
            target = value;
          } while (next_index(index, read.sizes));
        }
        for (std::size_t rank = 0; rank < 2; ++rank)
          ASSERT_EQ(loaded[rank], places_of(wanted[rank][0]));
        EXPECT_EQ(plan_flex_load(plan_flex_save(saved, true), saved).is_local, true);
      }
}

TEST(FlexPlan, StoresReplicasInTheEmptiestFile) {
  Shards both(2);
  for (const char* key : {"a", "b", "c"})
    for (auto& shards : both) shards.push_back({key, {2}, whole(Shape{2}), {}});
  std::vector<FlexStorage> stored = plan_flex_save(both, false);
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_EQ(stored[0].rank, 0u);
  EXPECT_EQ(stored[1].rank, 1u);
  EXPECT_EQ(stored[2].rank, 0u);
  stored = plan_flex_save(both, true);
  ASSERT_EQ(stored.size(), 6u);
  EXPECT_EQ(stored[3].rank, 0u);
  EXPECT_EQ(stored[3].replica, 1);
  EXPECT_FALSE(plan_flex_load(plan_flex_save(both, false), both).is_local);
}

TEST(FlexPlan, AFileIsReadOnceByWhoReadsTheFewest) {
  Shards four = {{{"a", {2}, {{0}, {1}}, {}}}, {{"a", {2}, {{1}, {1}}, {}}}, {}, {}};
  Shards wanted(4, {{"a", {2}, whole(Shape{2}), {}}});
  FlexLoadPlan plan = plan_flex_load(plan_flex_save(four, false), wanted);
  EXPECT_EQ(plan.files, (std::vector<std::vector<std::size_t>>{{0}, {1}, {}, {}}));
  for (const FlexRead& read : plan.reads) EXPECT_EQ(read.reader, read.storage);
  EXPECT_EQ(plan.reads.size(), 8u);
}

TEST(FlexPlan, ShardsKnowTheirShapeInMemory) {
  EXPECT_EQ(range_shard(2, 7).local_shape(), Shape{5});
  EXPECT_EQ(box_shard({{0, 1}, {2, 3}}).local_shape(), (Shape{2, 3}));
  EXPECT_TRUE(range_shard(2, 2).is_empty());
  EXPECT_TRUE(box_shard({{0, 1}, {0, 3}}).is_empty());
  EXPECT_FALSE(box_shard({{0, 1}, {1, 3}}).is_empty());
}

}  // namespace
}  // namespace simmesh::checkpoint
