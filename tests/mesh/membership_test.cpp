#include "mesh/membership.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

std::vector<bool> run_members(const Membership& group) {
  std::vector<bool> run;
  for (std::size_t member = 0; member < group.size(); ++member) run.push_back(group.is_run(member));
  return run;
}

// If this fails, errors and reports name the wrong ranks of a group.
TEST(Membership, KeepsItsMembersInTheirOrder) {
  Membership group({7, "dp", RankList::of({4, 0, 2})}, {.ranks = 5});
  EXPECT_EQ(group.id(), 7u);
  EXPECT_EQ(group.size(), 3u);
  EXPECT_EQ(group.rank_of(0), 4u);
  EXPECT_EQ(group.rank_of(2), 2u);
  EXPECT_EQ(group.describe(), "dp [4, 0, 2]");
}

// If this fails, a collective waits for members that never come, or doesn't wait for all.
TEST(Membership, RunsAllMembersUnlessTheWorldIsFolded) {
  Membership group({0, "dp", RankList::of({4, 0, 2})}, checked({.ranks = 5}));
  EXPECT_EQ(run_members(group), (std::vector{true, true, true}));
  EXPECT_EQ(group.count_run(), 3u);
  EXPECT_EQ(group.first_run(), 0u);
}

// If this fails, a folded world takes another member for the one that speaks for all.
TEST(Membership, KnowsWhichMembersAFoldedWorldRuns) {
  WorldOptions world =
      checked({.ranks = 8, .shapes_only = true, .fold = true, .folded_onto = {6, 1, 2}});
  Membership all({0, "world", RankList::range(8)}, world);
  EXPECT_EQ(run_members(all), (std::vector{false, true, true, false, false, false, true, false}));
  EXPECT_EQ(all.count_run(), 3u);
  EXPECT_EQ(all.first_run(), 1u);
  Membership backwards({1, "pp", RankList::of({7, 6, 5, 1})}, world);
  EXPECT_EQ(run_members(backwards), (std::vector{false, true, false, true}));
  EXPECT_EQ(backwards.first_run(), 1u) << "the first in the order of the group";
}

}  // namespace
}  // namespace simmesh
