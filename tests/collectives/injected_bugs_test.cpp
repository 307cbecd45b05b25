#include "tests/collectives/injected_bugs.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

using testing::BugHunt;
using testing::injected_bugs;

// If this fails, a policy misses a bug.
TEST(InjectedBugs, AreFoundByEachPolicy) {
  for (const auto& bug : injected_bugs()) {
    for (const char* policy : {"random", "pct", "pos", "walk"})
      EXPECT_TRUE(BugHunt({bug, policy}).runs_until_found(3, 5'000)) << bug.name << " " << policy;
  }
}

// If this fails, partial-order sampling has lost what it is for: a bug that a uniform choice hides
// behind other work.
TEST(InjectedBugs, PosNeedsFewRunsForWhatAUniformChoiceHides) {
  for (const auto& bug : injected_bugs()) {
    if (bug.name != "stale buffer" && bug.name != "used too early") continue;
    EXPECT_LT(5 * BugHunt({bug, "pos"}).median_of(9, 1'000),
              BugHunt({bug, "random"}).median_of(9, 1'000))
        << bug.name;
  }
}

}  // namespace
}  // namespace simmesh
