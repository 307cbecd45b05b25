#include "core/engine/run/followed_release.h"

#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

// Worlds of two releases may run one after the other, and tensors are used outside of worlds.
TEST(FollowedRelease, IsThatOfTheWorld) {
  EXPECT_EQ(followed_release(), newest_release);
  for (Release release : releases) {
    World world({.ranks = 2, .release = release});
    Outcome outcome = world.run([&](Rank& rank) {
      rank.record(std::uint64_t(followed_release()));
      if (followed_release() != release) throw std::runtime_error("another release");
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
  EXPECT_EQ(followed_release(), newest_release);
}

}  // namespace
}  // namespace simmesh
