#include "replay/job/recorded_rank.h"

#include <gtest/gtest.h>

#include "replay/job/job_groups.h"
#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using testing::made_job;
using testing::MadeTrace;

std::optional<std::int64_t> rank_in(MadeTrace&& made) {
  TraceJob job = made_job(made);
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  return recorded_rank(job.ranks[0].trace, groups, groups.comms[0]);
}

TEST(RecordedRank, IsGlobal) {
  EXPECT_EQ(rank_in(std::move(MadeTrace(5).group("1", {3, 5, 7}).add({.group = "1", .rank = 1}))),
            5);
}

TEST(RecordedRank, RootsAndPeersSayNothing) {
  EXPECT_EQ(
      rank_in(std::move(MadeTrace(0).group("0", {0, 1}).add({.name = "broadcast", .rank = 1}))),
      std::nullopt);
  EXPECT_EQ(rank_in(std::move(MadeTrace(0).group("0", {0, 1}).add({.name = "send", .rank = 1}))),
            std::nullopt);
}

TEST(RecordedRank, MostCommunicationsDecide) {
  MadeTrace made(0);
  made.group("0", {0, 1, 2});
  for (std::int64_t rank : {2, 1, 2, 9}) made.add({.rank = rank});
  EXPECT_EQ(rank_in(std::move(made)), 2);
}

TEST(RecordedRank, EachKindSaysWhatItsRankIs) {
  EXPECT_EQ(rank_field(CommKind::all_reduce), RankField::own_rank);
  EXPECT_EQ(rank_field(CommKind::wait), RankField::own_rank);
  EXPECT_EQ(rank_field(CommKind::barrier), RankField::own_rank);
  for (CommKind kind : {CommKind::broadcast, CommKind::reduce, CommKind::gather, CommKind::scatter})
    EXPECT_EQ(rank_field(kind), RankField::root);
  EXPECT_EQ(rank_field(CommKind::send), RankField::peer);
  EXPECT_EQ(rank_field(CommKind::unknown), RankField::nothing);
}

}  // namespace
}  // namespace simmesh::replay
