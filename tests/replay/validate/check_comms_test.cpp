#include "replay/validate/check_comms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MadeTrace;

Findings comm_findings(const TraceJob& job, CommFaults* faults = nullptr) {
  Findings findings, unresolved;
  JobGroups groups = resolve_groups(job, unresolved);
  CommFaults found = check_comms(JobView(job, groups), findings);
  if (faults != nullptr) *faults = found;
  return findings;
}

std::string comm_faults(MadeTrace& made) {
  return testing::findings_text(comm_findings(testing::made_job(made)));
}

// Would fail if a name that nobody knows passed without a word.
TEST(CheckComms, WarnsOfAnUnknownCollective) {
  MadeTrace made(0);
  made.group("0", {0, 1}).add({.name = "teleport"});
  EXPECT_EQ(comm_faults(made),
            "warning unknown_collective: rank 0 node 3 name: expected the name of a collective or "
            "message, got 'teleport'\n");
}

// Would fail if one request of two collectives passed, or one of two messages didn't.
TEST(CheckComms, WarnsOfARequestThatIsUsedAgain) {
  for (std::string name : {"allreduce", "send"}) {
    TraceJob job =
        testing::made_job(MadeTrace(0).group("0", {0, 1}).add({.name = name}).add({.name = name}));
    for (TraceComm& comm : job.ranks[0].trace.comms) comm.request.sequence = 5;
    std::string text = testing::findings_text(comm_findings(job));
    EXPECT_EQ(
        text.find("warning request_reused: rank 0 node 4 req: allreduce: expected a request") !=
            std::string::npos,
        name == "allreduce")
        << text;
  }
}

TEST(CheckComms, TheOwnRankIsThePlaceInTheGroup) {
  for (std::int64_t rank = -1; rank <= 3; ++rank) {
    MadeTrace made(3);
    made.group("1", {1, 3, 5}).add({.group = "1", .rank = rank});
    std::string text = comm_faults(made);
    EXPECT_EQ(text.empty(), rank == 1);
    if (rank != 1) {
      EXPECT_EQ(text,
                fmt::format("error own_rank: rank 3 node 3 rank: expected the place of rank 3 "
                            "in the group of ranks [1, 3, 5], got {}\n",
                            rank));
    }
  }
}

// One finding says that the file is another rank's.
TEST(CheckComms, ATraceOfAnotherRankIsFoundOnce) {
  MadeTrace made(0);
  made.group("0", {0, 1});
  for (int i = 0; i < 5; ++i) made.add({.rank = 1});
  EXPECT_THAT(comm_faults(made), HasSubstr("so in all 5 nodes that record the own rank"));
  EXPECT_EQ(comm_findings(testing::made_job(
                              MadeTrace(0).group("0", {0, 1}).add({.rank = 1}).add({.rank = 1})))
                .size(),
            1u);
}

TEST(CheckComms, RootsAndPeersAreMembers) {
  for (const char* name : {"broadcast", "reduce", "send", "recv"})
    for (std::int64_t rank = -2; rank <= 3; ++rank) {
      MadeTrace made(0);
      made.group("0", {0, 1}).add({.name = name, .rank = rank});
      bool is_any = rank == -1 && std::string(name) == "recv";
      EXPECT_EQ(comm_faults(made).empty(), (rank >= 0 && rank < 2) || is_any)
          << name << " " << rank;
    }
}

TEST(CheckComms, FiguresAreThoseOfTheGroup) {
  for (std::int64_t start : {0, 1, 2})
    for (std::int64_t stride : {-1, 1, 2})
      for (std::int64_t size : {2, 3, 4}) {
        MadeTrace made(1);
        made.group("1", {1, 3, 5}).add({.group = "1", .rank = 0}).figures(start, stride, size);
        std::string text = comm_faults(made);
        bool is_right = start == 1 && stride != 1 && size == 3;
        EXPECT_EQ(text.empty(), is_right) << text;
        if (!is_right) {
          EXPECT_THAT(text, HasSubstr("error group_identity: rank 1 node 3"));
        }
      }
  MadeTrace alone(1);
  alone.group("1", {1}).add({.group = "1"}).figures(1, 0, 1);
  EXPECT_EQ(comm_faults(alone), "");
}

TEST(CheckComms, AWaitForNothingIsNoted) {
  MadeTrace made(0);
  made.group("0", {0}).wait(1, 0).add({.sequence = 1}).wait(1, 0);
  Findings findings = comm_findings(testing::made_job(made));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(to_string(findings[0]),
            "note dangling_wait: rank 0 node 3 req: waits for request 1, which the trace doesn't "
            "start before");
}

TEST(CheckComms, SaysWhichSizesAreWrong) {
  CommFaults faults;
  TraceJob job = testing::made_job(MadeTrace(0).group("0", {0}).add({}).add({.out = {9}}).add({}));
  comm_findings(job, &faults);
  EXPECT_THAT(faults, ElementsAre(ElementsAre(false, true, false)));
}

}  // namespace
}  // namespace simmesh::replay
