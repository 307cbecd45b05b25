#include "replay/job/missing_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "replay/validate/validate_job.h"
#include "tests/expect_error.h"
#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using simmesh::testing::error_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::made_job;
using testing::MadeTrace;

TraceJob recorded_job(const std::string& path) {
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR "/tests/cases/replay/" + path};
  return read_job(paths);
}

TEST(MissingRanks, ResNetsOtherRankIsMadeFromTheOneThatIsThere) {
  TraceJob job = recorded_job("resnet_2gpu_et.1.1.0.json.gz");
  std::vector<std::string> made = fill_missing_ranks(job);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_THAT(made[0], HasSubstr("is rank 1, as its collectives record"));
  EXPECT_EQ(made[1], "rank 0 is synthesised from rank 1");
  EXPECT_EQ(testing::findings_text(validate(job)), "");
  ASSERT_EQ(job.ranks.size(), 2u);
  const ExecutionTrace& trace = job.find(0)->trace;
  EXPECT_EQ(trace.text(trace.tensors[0].device), "cuda:0");
}

TEST(MissingRanks, AFullJobStaysAsItIs) {
  TraceJob job = recorded_job("dlrm_pytorch_et.tar.gz");
  EXPECT_THAT(fill_missing_ranks(job), IsEmpty());
  EXPECT_EQ(job.ranks.size(), 8u);
}

std::vector<std::vector<std::int64_t>> all_splits(const ExecutionTrace& trace) {
  std::vector<std::vector<std::int64_t>> lists;
  for (const TraceComm& comm : trace.comms)
    for (TraceRange split : {comm.in_split, comm.out_split}) {
      gsl::span<const std::int64_t> numbers = trace.numbers_in(split);
      lists.emplace_back(numbers.begin(), numbers.end());
    }
  return lists;
}

// Ranks 0 and 5 of DLRM get equally much in the uneven exchange, so each can be made from the
// other, and its splits from all; nobody else's tensors fit.
TEST(MissingRanks, AnUnevenExchangeNeedsARankWithEquallyMuch) {
  for (std::size_t gone = 0; gone < 7; ++gone) {
    TraceJob job = recorded_job("dlrm_pytorch_et.tar.gz");
    auto splits = all_splits(job.ranks[gone].trace);
    job.ranks.erase(job.ranks.begin() + std::ptrdiff_t(gone));
    if (gone == 0 || gone == 5) {
      EXPECT_THAT(fill_missing_ranks(job),
                  ElementsAre(fmt::format("rank {} is synthesised from rank {}", gone, 5 - gone)));
      EXPECT_EQ(all_splits(job.ranks[gone].trace), splits);
      EXPECT_EQ(testing::findings_text(validate(job)), "");
      continue;
    }
    EXPECT_THAT(error_text([&] { fill_missing_ranks(job); }),
                HasSubstr("the all_to_allv at node 1103 has uneven splits: the others take"))
        << "rank " << gone;
    EXPECT_EQ(job.ranks.size(), 7u);
  }
}

// Each set of missing ranks of a job of four, on a mesh of 2x2 with a ring and an even exchange.
TEST(MissingRanks, AnySetOfRanksOfASymmetricalJobIsFilled) {
  auto trace_of = [](std::int64_t rank) {
    std::int64_t row = rank / 2 * 2, column = rank % 2;
    MadeTrace made(rank);
    made.group("0", {}, 4).group("1", {row, row + 1}).group("2", {column, column + 2});
    made.add({.name = "broadcast", .rank = 3});
    made.add({.group = "1", .rank = rank - row}).figures(row, 1, 2).wait(1, rank - row);
    made.add({.name = "_allgather_base", .group = "2", .rank = rank / 2, .out = {16}});
    made.add(
        {.name = "all_to_allv", .rank = rank, .in_split = {2, 2, 2, 2}, .out_split = {2, 2, 2, 2}});
    made.add({.name = "send", .rank = (rank + 1) % 4})
        .add({.name = "recv", .rank = (rank + 3) % 4});
    return made.done();
  };
  for (unsigned present = 1; present < 16; ++present) {
    TraceJob job;
    for (unsigned rank = 0; rank < 4; ++rank)
      if (present >> rank & 1u) job.ranks.push_back(trace_of(rank));
    std::size_t missing = 4 - job.ranks.size();
    EXPECT_EQ(fill_missing_ranks(job).size(), missing);
    EXPECT_EQ(testing::findings_text(validate(job)), "") << "present " << present;
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      ASSERT_NE(job.find(rank), nullptr);
      RankTrace expected = trace_of(rank);
      for (std::size_t i = 0; i < expected.trace.comms.size(); ++i)
        EXPECT_EQ(job.find(rank)->trace.comms[i].rank, expected.trace.comms[i].rank)
            << "present " << present << " rank " << rank << " comm " << i;
    }
  }
}

// The exchange of a rank follows from the others' where its tensors are as long as theirs.
TEST(MissingRanks, UnevenSplitsAreTransposed) {
  const std::int64_t sent[3][3] = {{2, 3, 1}, {1, 2, 3}, {3, 1, 2}};
  for (std::int64_t gone = 0; gone < 3; ++gone) {
    TraceJob job;
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      if (rank == gone) continue;
      MadeTrace made(rank);
      made.group("0", {}, 3);
      made.add({.name = "all_to_allv",
                .rank = rank,
                .in = {6},
                .out = {6},
                .in_split = {sent[rank][0], sent[rank][1], sent[rank][2]},
                .out_split = {sent[0][rank], sent[1][rank], sent[2][rank]}});
      job.ranks.push_back(made.done());
    }
    fill_missing_ranks(job);
    EXPECT_EQ(testing::findings_text(validate(job)), "");
    const ExecutionTrace& trace = job.find(gone)->trace;
    EXPECT_THAT(trace.numbers_in(trace.comms[0].in_split),
                ElementsAre(sent[gone][0], sent[gone][1], sent[gone][2]));
  }
}

TEST(MissingRanks, RefusesWhatHasNoTraceOrUnclearGroups) {
  TraceJob empty;
  EXPECT_THROW(fill_missing_ranks(empty), Error);
  TraceJob unclear = made_job(MadeTrace(0).group("0", {}, 2).add({.group = "9"}));
  EXPECT_THROW(fill_missing_ranks(unclear), Error);
  TraceJob large = made_job(MadeTrace(0).group("0", {}, 100'000));
  EXPECT_THROW(fill_missing_ranks(large), Error);
  EXPECT_EQ(large.ranks.size(), 1u);
}

}  // namespace
}  // namespace simmesh::replay
