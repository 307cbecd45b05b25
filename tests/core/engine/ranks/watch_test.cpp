#include "core/engine/ranks/watch.h"

#include <gtest/gtest.h>
#include <optional>

#include "core/engine/world.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// Would fail if a scope of one rank made another one's calls known.
TEST(Watch, IsOnInItsScopeOfItsRank) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    EXPECT_FALSE(Watch::is_on());
    {
      std::optional<Watch> watch;
      if (rank.id() == 0) watch.emplace();
      rank.yield();
      EXPECT_EQ(Watch::is_on(), rank.id() == 0);
      {
        Watch inner;
        EXPECT_TRUE(Watch::is_on());
        {
          Watch::Pause pause;
          EXPECT_FALSE(Watch::is_on());
        }
        EXPECT_TRUE(Watch::is_on());
      }
      EXPECT_EQ(Watch::is_on(), rank.id() == 0);
    }
    EXPECT_FALSE(Watch::is_on());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_FALSE(Watch::is_on());
}

TEST(Watch, NeedsARank) {
  testing::expect_error([] { Watch watch; }, ErrorKind::runtime_error, "World::run");
}

}  // namespace
}  // namespace simmesh
