#include "collectives/membership.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If this fails, a group of an ordinary world waits for members that nobody counts as running.
TEST(Membership, AllMembersRunInAnOrdinaryWorld) {
  Membership group({.id = 3, .name = "dp", .members = RankList::of({4, 0, 6})}, {.ranks = 8});
  EXPECT_EQ(group.id(), 3u);
  EXPECT_EQ(group.size(), 3u);
  EXPECT_EQ(group.rank_of(1), 0u);
  EXPECT_EQ(group.count_run(), 3u);
  EXPECT_EQ(group.first_run(), 0u);
  for (std::size_t member = 0; member < 3; ++member) EXPECT_TRUE(group.is_run(member));
  EXPECT_EQ(group.describe(), "dp [4, 0, 6]");
}

// If this fails, a collective of a folded world waits for ranks that never run, or takes one of
// them for the member whose call stands for all.
TEST(Membership, OnlyRanksThatRunCountInAFoldedWorld) {
  WorldOptions folded{.ranks = 8, .folded_onto = {0, 4, 7}};
  Membership group({.id = 0, .name = "tp", .members = RankList::of({7, 6, 5, 4})}, folded);
  EXPECT_EQ(group.size(), 4u);
  EXPECT_EQ(group.count_run(), 2u);
  EXPECT_EQ(group.first_run(), 0u);
  EXPECT_TRUE(group.is_run(0));
  EXPECT_FALSE(group.is_run(1));
  EXPECT_TRUE(group.is_run(3));
  Membership other({.id = 1, .name = "pp", .members = RankList::of({6, 4})}, folded);
  EXPECT_EQ(other.first_run(), 1u);
}

}  // namespace
}  // namespace simmesh
