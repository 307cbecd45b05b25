#include "replay/validate/group_traffic.h"

#include <gtest/gtest.h>

#include "tests/replay/validate/made_view.h"

namespace simmesh::replay {
namespace {

using testing::MadeTrace;

TEST(GroupTraffic, HasWhatEachMemberDoesInAGroup) {
  MadeTrace first(0), second(2);
  first.group("0", {}, 3).group("1", {0, 2}).group("2", {0});
  first.add({.group = "1"}).add({.name = "send", .group = "1", .rank = 1}).wait(1, 0).add({});
  second.group("0", {}, 3).group("1", {0, 2}).add({.rank = 2});
  TraceJob job = testing::made_job(first, second);
  testing::MadeView made(job);
  std::vector<GroupTraffic> traffic = made.traffic();
  // Nobody uses the group of rank 0 alone.
  ASSERT_EQ(traffic.size(), 2u);
  const GroupTraffic& world = traffic[0];
  ASSERT_EQ(world.members.size(), 2u);
  EXPECT_EQ(world.members[1].index, 2);
  EXPECT_EQ(world.members[0].collectives.size(), 1u);
  const GroupTraffic& pair = traffic[1];
  EXPECT_EQ(pair.members[0].collectives.size(), 1u);
  EXPECT_EQ(pair.members[0].messages.size(), 1u);
  EXPECT_EQ(pair.members[1].index, 1);
  EXPECT_TRUE(pair.members[1].collectives.empty());
}

// Whatever else such a trace has in its groups would be compared wrongly.
TEST(GroupTraffic, LeavesOutTracesWithUnclearGroups) {
  TraceJob job = testing::made_job(MadeTrace(0).group("0", {}, 2).add({}).add({.group = "9"}),
                                   MadeTrace(1).group("0", {}, 2).add({.rank = 1}));
  testing::MadeView made(job);
  std::vector<GroupTraffic> traffic = made.traffic();
  ASSERT_EQ(traffic.size(), 1u);
  ASSERT_EQ(traffic[0].members.size(), 1u);
  EXPECT_EQ(traffic[0].members[0].position, 1u);
}

TEST(GroupTraffic, LeavesOutTracesWithoutTheGroup) {
  TraceJob job = testing::made_job(MadeTrace(0).group("0", {}, 3).group("4", {0, 1}).add({}),
                                   MadeTrace(1).group("0", {}, 3).add({.rank = 1}),
                                   MadeTrace(2).group("0", {}, 3));
  testing::MadeView made(job);
  EXPECT_EQ(made.traffic().at(0).members.size(), 3u);
}

}  // namespace
}  // namespace simmesh::replay
