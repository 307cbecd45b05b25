#include "checkpoint/paddle/sharding_buffers.h"

#include <gtest/gtest.h>
#include <numeric>

namespace simmesh::checkpoint {
namespace {

using Numels = std::vector<std::int64_t>;

// Returns all lists of up to three sizes around the alignment of float32, and around its double.
std::vector<Numels> size_lists() {
  const Numels sizes = {1, 63, 64, 65, 129};
  std::vector<Numels> lists = {{}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].size() == 3) continue;
    for (std::int64_t size : sizes) {
      Numels longer = lists[i];
      longer.push_back(size);
      lists.push_back(longer);
    }
  }
  return lists;
}

TEST(ShardingBuffers, AlignTo256Bytes) {
  for (DType dtype : all_dtypes)
    EXPECT_EQ(buffer_alignment(dtype) * std::int64_t(bytes_per_element(dtype)), 256);
}

// Checks the owner of each place of the buffer.
TEST(ShardingBuffers, SlicesAreEqualRunsOfTheBuffer) {
  for (const Numels& numels : size_lists())
    for (std::int64_t ranks : {1, 2, 3}) {
      ReduceScatterBuffer buffer = reduce_scatter_buffer(numels, DType::float32, ranks);
      std::vector<std::pair<std::size_t, bool>> places;  // the parameter, and true for padding
      for (std::size_t i = 0; i < numels.size(); ++i) {
        ASSERT_EQ(buffer.index[i], std::int64_t(places.size()));
        std::size_t begin = places.size();
        places.resize(begin + std::size_t(numels[i]), {i, false});
        while ((places.size() - begin) % std::size_t(64 * ranks) != 0) places.emplace_back(i, true);
        ASSERT_EQ(buffer.padded[i], std::int64_t(places.size() - begin));
      }
      ASSERT_EQ(buffer.numel, std::int64_t(places.size()));
      std::size_t run = places.size() / std::size_t(ranks);
      for (std::size_t rank = 0; rank < std::size_t(ranks); ++rank)
        for (std::size_t i = 0; i < numels.size(); ++i) {
          std::optional<BufferSlice> expected;
          for (std::size_t place = rank * run; place < (rank + 1) * run; ++place) {
            if (places[place].first != i) continue;
            if (!expected) expected = {std::int64_t(place), std::int64_t(place), 0};
            ++expected->end;
            expected->padding += places[place].second;
          }
          ASSERT_EQ(buffer.slices[rank][i], expected) << rank << " " << i;
        }
    }
}

TEST(ShardingBuffers, FlatBuffersPadEachParameter) {
  for (const Numels& numels : size_lists()) {
    FlatBuffer buffer = flat_buffer(numels, DType::float32);
    std::int64_t end = 0;
    for (std::size_t i = 0; i < numels.size(); ++i) {
      ASSERT_EQ(buffer.offset[i], end);
      for (end += numels[i]; end % 64 != 0;) ++end;
    }
    ASSERT_EQ(buffer.numel, end);
  }
  EXPECT_EQ(flat_buffer(Numels{3}, DType::bfloat16).numel, 128);
}

// A group is closed once it has enough, so only its last parameter may exceed the limit.
TEST(ShardingBuffers, GroupsCloseOnceTheyHaveEnough) {
  for (const Numels& numels : size_lists())
    for (std::int64_t limit : {1, 256, 260, 1000}) {
      std::size_t next = 0;
      for (const std::vector<std::size_t>& group : bucket_groups(numels, DType::float32, limit)) {
        ASSERT_FALSE(group.empty());
        std::int64_t bytes = 0;
        for (std::size_t parameter : group) {
          ASSERT_LT(bytes, limit);
          ASSERT_EQ(parameter, next++);
          bytes += 4 * numels[parameter];
        }
        ASSERT_TRUE(bytes >= limit || next == numels.size());
      }
      ASSERT_EQ(next, numels.size());
    }
}

// The largest remaining parameter goes to the rank with the fewest elements.
TEST(ShardingBuffers, OwnersTakeTheLargestFirst) {
  for (const Numels& numels : size_lists())
    for (std::size_t ranks : {1, 2, 3}) {
      std::vector<std::vector<std::size_t>> expected(ranks);
      Numels sums(ranks, 0);
      std::vector<bool> taken(numels.size(), false);
      for (std::size_t step = 0; step < numels.size(); ++step) {
        std::size_t largest = numels.size(), rank = 0;
        for (std::size_t i = 0; i < numels.size(); ++i)
          if (!taken[i] && (largest == numels.size() || numels[i] > numels[largest])) largest = i;
        for (std::size_t r = 0; r < ranks; ++r)
          if (sums[r] < sums[rank]) rank = r;
        taken[largest] = true;
        sums[rank] += numels[largest];
        expected[rank].push_back(largest);
      }
      ASSERT_EQ(whole_parameter_owners(numels, std::int64_t(ranks)), expected);
    }
}

TEST(ShardingBuffers, RowsAreCutAsChunks) {
  EXPECT_EQ(row_partition(5, 3), (std::vector<BufferSlice>{{0, 2, 0}, {2, 4, 0}, {4, 5, 0}}));
  EXPECT_EQ(row_partition(2, 3), (std::vector<BufferSlice>{{0, 1, 0}, {1, 2, 0}, {2, 2, 0}}));
}

TEST(ShardingBuffers, StatesLieOneBehindTheOther) {
  for (const Numels& numels : size_lists()) {
    FusedStates states = fused_states(numels);
    std::int64_t end = 0;
    auto expect_next = [&](const std::vector<FusedStates::Range>& ranges, bool is_power) {
      ASSERT_EQ(ranges.size(), numels.size());
      for (std::size_t i = 0; i < numels.size(); ++i) {
        ASSERT_EQ(ranges[i].first, end);
        for (end += is_power ? 1 : numels[i]; end % 64 != 0;) ++end;
        ASSERT_EQ(ranges[i].second, end);
      }
    };
    expect_next(states.moment1, false);
    expect_next(states.moment2, false);
    expect_next(states.beta1_pow_acc, true);
    expect_next(states.beta2_pow_acc, true);
    expect_next(states.master, false);
    ASSERT_EQ(states.numel, end);
  }
}

}  // namespace
}  // namespace simmesh::checkpoint
