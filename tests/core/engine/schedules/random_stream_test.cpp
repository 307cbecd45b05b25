#include "core/engine/schedules/random_stream.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

TEST(RandomStream, StreamsDifferBySeedAndNumber) {
  EXPECT_EQ(RandomStream(1, 2).next(), RandomStream(1, 2).next());
  EXPECT_NE(RandomStream(1, 2).next(), RandomStream(1, 3).next());
  EXPECT_NE(RandomStream(1, 2).next(), RandomStream(2, 2).next());
}

TEST(RandomStream, BelowStaysBelowAndReachesEverything) {
  for (std::uint64_t bound : {1u, 2u, 3u, 17u}) {
    RandomStream random(5, 0);
    std::uint64_t seen = 0;
    for (int i = 0; i < 1000; ++i) {
      std::uint64_t value = random.below(bound);
      ASSERT_LT(value, bound);
      seen |= std::uint64_t(1) << value;
    }
    EXPECT_EQ(seen, (std::uint64_t(1) << bound) - 1);
  }
}

}  // namespace
}  // namespace simmesh
