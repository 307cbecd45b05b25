#include "zero/fetch/fetch_settings.h"

#include <array>
#include <bit>
#include <gmock/gmock.h>

namespace simmesh::zero {
namespace {

using ::testing::Each;

// If this fails, a recorded schedule of DeepSpeed is followed without one of DeepSpeed's faults.
TEST(DeepSpeedFaults, AllTurnsEachOfThemOn) {
  using Switches = std::array<bool, sizeof(DeepSpeedFaults)>;
  EXPECT_THAT(std::bit_cast<Switches>(DeepSpeedFaults{}), Each(false));
  EXPECT_THAT(std::bit_cast<Switches>(DeepSpeedFaults::all()), Each(true));
}

// If this fails, prefetches of one parameter at a time take a bucket, or the bucket of one grows;
// without an optimizer DeepSpeed keeps the bucket.
TEST(FetchSettings, SequentialPrefetchesAreABucketOfOne) {
  ZeroOptimization zero{
      .prefetch_bucket_size = 70, .allgather_sequential = true, .adaptive_prefetch_bucket = true};
  FetchSettings trained = FetchSettings::of(zero, true);
  EXPECT_EQ(trained.prefetch_bucket_size, 1);
  EXPECT_FALSE(trained.adapts_prefetch_bucket);
  FetchSettings evaluated = FetchSettings::of(zero, false);
  EXPECT_EQ(evaluated.prefetch_bucket_size, 70);
  EXPECT_TRUE(evaluated.adapts_prefetch_bucket);
}

}  // namespace
}  // namespace simmesh::zero
