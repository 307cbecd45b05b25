#include "replay/job/local_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::made_job;
using testing::MadeTrace;

TEST(LocalGroups, NamesCountAsNumbers) {
  std::map<std::string, int, ByNumber> names;
  for (const char* name : {"b", "10", "9", "", "2", "010", "a", "100"}) names[name] = 0;
  std::vector<std::string> order;
  for (const auto& [name, number] : names) order.push_back(name);
  EXPECT_THAT(order, ElementsAre("2", "9", "010", "10", "100", "", "a", "b"));
}

TEST(LocalGroups, GroupsWithTheSameMembersAreNumberedByName) {
  RankTrace rank = MadeTrace(0).group("10", {0, 1}).group("9", {}, 2).group("1", {0}).done();
  Findings findings;
  LocalGroups groups = local_groups(rank, 2, findings);
  number_groups(groups);
  EXPECT_EQ(groups.by_name["9"].number, 0);
  EXPECT_EQ(groups.by_name["10"].number, 1);
  EXPECT_EQ(groups.by_name["1"].number, 0);
  EXPECT_THAT(groups.by_name["9"].members, ElementsAre(0, 1));
  EXPECT_THAT(findings, IsEmpty());
}

TEST(LocalGroups, CollectivesDescribeTheirGroupsWhereNoRecordDoes) {
  RankTrace rank = MadeTrace(4)
                       .add({.group = "1"})
                       .figures(0, 2, 3)
                       .add({.group = "2"})
                       .figures(4, 0, 1)
                       .add({.group = "3"})
                       .figures(1, -1, 3)
                       .done();
  Findings findings;
  LocalGroups groups = local_groups(rank, 6, findings);
  EXPECT_THAT(groups.by_name["1"].members, ElementsAre(0, 2, 4));
  EXPECT_THAT(groups.by_name["2"].members, ElementsAre(4));
  EXPECT_THAT(groups.by_name["3"].members, IsEmpty());
  EXPECT_THAT(testing::findings_text(findings),
              HasSubstr("warning unknown_group: rank 4 node 5 pg_name: no record lists the ranks "
                        "of group '3'"));
}

TEST(LocalGroups, RecordsThatMakeNoSenseAreFound) {
  RankTrace rank = MadeTrace(0)
                       .group("1", {0, 0})
                       .group("2", {-1, 0})
                       .group("3", {0, 1})
                       .group("3", {0, 1})
                       .group("4", {}, std::int64_t(1) << 40)
                       .group("5", {0})
                       .done();
  rank.trace.process_groups.back().size = 7;
  Findings findings;
  local_groups(rank, 2, findings);
  std::string text = testing::findings_text(findings);
  EXPECT_THAT(text, HasSubstr("group '1': a rank is listed twice"));
  EXPECT_THAT(text, HasSubstr("group '2': expected ranks from 0 to 1048575, got [-1, 0]"));
  EXPECT_THAT(text, HasSubstr("group '3': the rank has two groups of this name"));
  EXPECT_THAT(text, HasSubstr("group '4': expected at most 1048576 ranks"));
  EXPECT_THAT(text, HasSubstr("group '5': group_size is 7, but 1 ranks are listed"));
}

TEST(LocalGroups, ManyLargeGroupsDoNotFillTheMemory) {
  MadeTrace made(0);
  for (int i = 0; i < 64; ++i) made.group(fmt::format("{}", i), {}, world_size_max);
  Findings findings;
  LocalGroups groups = local_groups(made.done(), world_size_max, findings);
  EXPECT_LE(groups.member_count, members_max);
  EXPECT_THAT(testing::findings_text(findings), HasSubstr("too many members"));
}

TEST(LocalGroups, TheDefaultGroupSaysHowManyRanksThereAre) {
  EXPECT_EQ(world_size_of(made_job(MadeTrace(0).group("0", {}, 4))), 4);
  EXPECT_EQ(world_size_of(made_job(MadeTrace(0).group("5", {0, 9}))), 10);
  EXPECT_EQ(world_size_of(made_job(MadeTrace(0).add({}).figures(0, 1, 6))), 6);
  EXPECT_EQ(world_size_of(made_job(MadeTrace(0), MadeTrace(1))), 2);
  EXPECT_EQ(world_size_of(made_job(MadeTrace(0), MadeTrace(5))), 6);
}

// A single wrong figure doesn't change the world.
TEST(LocalGroups, MostTracesDecideHowManyRanksThereAre) {
  TraceJob job = made_job(MadeTrace(0).group("0", {}, 3), MadeTrace(1).group("0", {}, 7),
                          MadeTrace(2).group("0", {}, 3));
  EXPECT_EQ(world_size_of(job), 3);
}

TEST(LocalGroups, AFileThatCouldNotBeReadCountsAsARank) {
  TraceJob job = made_job(MadeTrace(0), MadeTrace(1));
  job.findings.emplace_back();
  EXPECT_EQ(world_size_of(job), 3);
}

RankTrace with_addresses(std::int64_t rank, const std::vector<std::int64_t>& addresses) {
  MadeTrace made(rank);
  for (std::int64_t address : addresses) {
    made.add({});
    made.last_comm().group = {.address = address, .name_and_description = std::nullopt};
  }
  return made.done();
}

TEST(LocalGroups, AnAddressStandsForAllRanks) {
  TraceJob job;
  job.ranks.push_back(with_addresses(0, {64, 64}));
  job.ranks.push_back(with_addresses(1, {96, 32, 96}));
  std::vector<LocalGroups> groups(2);
  Findings findings;
  add_addresses(job, 2, groups, findings);
  EXPECT_THAT(groups[0].by_name["address 64"].members, ElementsAre(0, 1));
  EXPECT_THAT(groups[1].by_name["address 96"].members, ElementsAre(0, 1));
  EXPECT_THAT(groups[1].by_name["address 32"].members, IsEmpty());
  EXPECT_THAT(testing::findings_text(findings),
              HasSubstr("error unknown_group: rank 1 node 4 pg: the group at address 32"));
}

TEST(LocalGroups, AnAddressOfASmallerGroupTellsNobody) {
  TraceJob job;
  job.ranks.push_back(with_addresses(0, {64}));
  job.ranks[0].trace.comms[0].group_size = 2;
  std::vector<LocalGroups> groups(1);
  Findings findings;
  add_addresses(job, 4, groups, findings);
  EXPECT_THAT(groups[0].by_name["address 64"].members, IsEmpty());
  EXPECT_THAT(testing::findings_text(findings), HasSubstr("warning unknown_group"));
}

TEST(LocalGroups, ACommunicationMayNameNoGroup) {
  RankTrace named = MadeTrace(0).add({.group = "7"}).wait(1, 0).done();
  EXPECT_EQ(local_name(named.trace, named.trace.comms[0]), "7");
  EXPECT_EQ(local_name(named.trace, named.trace.comms[1]), "");
  RankTrace addressed = with_addresses(0, {64, 0});
  EXPECT_EQ(local_name(addressed.trace, addressed.trace.comms[0]), "address 64");
  EXPECT_EQ(local_name(addressed.trace, addressed.trace.comms[1]), "");
}

}  // namespace
}  // namespace simmesh::replay
