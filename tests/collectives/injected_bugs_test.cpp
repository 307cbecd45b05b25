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

// If this fails, partial-order sampling has lost what it is for: bugs that a uniform choice hides
// behind other work, and priorities of ranks behind the order of events.
TEST(InjectedBugs, PosNeedsAtMostTheRunsOfRandomAndPct) {
  for (const auto& bug : injected_bugs()) {
    std::uint64_t runs = BugHunt{bug, "pos"}.median_of(50, 1'000);
    for (const char* other : {"random", "pct"})
      EXPECT_LE(runs, (BugHunt{bug, other}.median_of(50, 1'000))) << bug.name << " " << other;
  }
}

}  // namespace
}  // namespace simmesh
