#include "replay/job/job_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::made_job;
using testing::MadeTrace;

JobGroups clear_groups_of(const TraceJob& job) {
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  EXPECT_EQ(testing::findings_text(findings), "");
  return groups;
}

std::string group_faults(const TraceJob& job) {
  Findings findings;
  resolve_groups(job, findings);
  return testing::findings_text(findings);
}

TEST(JobGroups, MembersMakeAGroupWhateverItsName) {
  TraceJob job = made_job(
      MadeTrace(0).group("0", {}, 2).group("1", {0}).group("3", {0, 1}).add({.group = "3"}),
      MadeTrace(1).group("0", {}, 2).group("2", {1}).group("5", {0, 1}).add({.group = "5"}));
  JobGroups groups = clear_groups_of(job);
  EXPECT_EQ(groups.world_size, 2);
  ASSERT_EQ(groups.groups.size(), 4u);
  EXPECT_EQ(groups.comms[0][0].group, groups.comms[1][0].group);
  const JobGroup& group = groups.groups[*groups.comms[0][0].group];
  EXPECT_THAT(group.members, ElementsAre(0, 1));
  EXPECT_EQ(group.number, 1);
  EXPECT_EQ(to_string(group), "the group of ranks [0, 1] with number 1");
}

TEST(JobGroups, OneNameMayStandForSeveralGroups) {
  TraceJob job = made_job(MadeTrace(0).group("2", {0, 1}).add({.group = "2"}),
                          MadeTrace(1).group("2", {0, 1}).add({.group = "2"}),
                          MadeTrace(2).group("2", {2, 3}).add({.group = "2"}),
                          MadeTrace(3).group("2", {2, 3}).add({.group = "2"}));
  JobGroups groups = clear_groups_of(job);
  EXPECT_EQ(groups.comms[0][0].group, groups.comms[1][0].group);
  EXPECT_EQ(groups.comms[2][0].group, groups.comms[3][0].group);
  EXPECT_NE(groups.comms[0][0].group, groups.comms[2][0].group);
}

TEST(JobGroups, AWaitWithoutAGroupHasThatOfItsRequest) {
  TraceJob job = made_job(MadeTrace(0)
                              .group("0", {0})
                              .group("1", {0})
                              .add({.group = "1", .sequence = 5})
                              .wait(5, 0)
                              .wait(4, 0)
                              .add({.group = "0", .sequence = 5})
                              .wait(5, 0));
  JobGroups groups = clear_groups_of(job);
  const std::vector<JobComm>& comms = groups.comms[0];
  EXPECT_EQ(comms[1].group, comms[0].group);
  EXPECT_EQ(comms[2].group, std::nullopt);
  EXPECT_EQ(comms[4].group, comms[3].group);
  EXPECT_NE(comms[4].group, comms[1].group);
}

TEST(JobGroups, AGroupThatNoRecordHasIsFound) {
  EXPECT_THAT(group_faults(made_job(MadeTrace(0).group("0", {0}).add({.group = "7"}))),
              HasSubstr("error unknown_group: rank 0 node 3 pg_name"));
}

TEST(JobGroups, ARankMustBeAMember) {
  TraceJob job =
      made_job(MadeTrace(0).group("0", {0, 1}).add({}), MadeTrace(1).group("0", {0, 1}).add({}),
               MadeTrace(2).group("0", {0, 1}).add({}));
  EXPECT_THAT(group_faults(job),
              HasSubstr("error group_membership: rank 2 node 3 pg_name: group '0' "
                        "is the group of ranks [0, 1], of which rank 2 isn't a "
                        "member"));
}

TEST(JobGroups, EachMemberMustHaveTheGroup) {
  TraceJob job = made_job(MadeTrace(0).group("0", {}, 3).group("4", {0, 1}).add({.group = "4"}),
                          MadeTrace(1).group("0", {}, 3), MadeTrace(2).group("0", {}, 3));
  EXPECT_THAT(group_faults(job),
              HasSubstr("rank 0 node 3 pg_name: group '4' is the group of ranks [0, 1], which rank "
                        "1 doesn't have"));
}

// A recorded group that nobody uses does no harm.
TEST(JobGroups, GroupsThatAreNotUsedNeedNotMatch) {
  EXPECT_EQ(group_faults(made_job(MadeTrace(0).group("0", {}, 2).group("4", {0, 1}),
                                  MadeTrace(1).group("0", {}, 2))),
            "");
}

TEST(JobGroups, AFileWithoutARankIsOfTheRankThatItRecords) {
  TraceJob job = made_job(MadeTrace(0).group("0", {}, 4).add({.rank = 2}));
  job.ranks[0].file = "trace.json";
  EXPECT_THAT(clear_groups_of(job).ranks, ElementsAre(2));
  job.ranks[0].file = "rank-0.json";
  EXPECT_THAT(clear_groups_of(job).ranks, ElementsAre(0));
}

// Files that are counted in the order of their names may be in another order than their ranks.
TEST(JobGroups, FilesWithoutRanksMayComeInAnyOrder) {
  for (std::int64_t first : {0, 1, 2})
    for (std::int64_t second : {0, 1, 2}) {
      TraceJob job = made_job(MadeTrace(0).group("0", {}, 3).add({.rank = first}),
                              MadeTrace(1).group("0", {}, 3).add({.rank = second}));
      job.ranks[0].file = "a.json";
      job.ranks[1].file = "b.json";
      JobGroups groups = clear_groups_of(job);
      if (first != second) {
        EXPECT_THAT(groups.ranks, ElementsAre(first, second));
      } else {
        EXPECT_THAT(groups.ranks, ElementsAre(0, 1));
      }
    }
}

}  // namespace
}  // namespace simmesh::replay
