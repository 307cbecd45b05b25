#include "replay/job/missing_splits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MadeComm;
using testing::MadeTrace;

MadeComm exchange_of(std::int64_t rank, std::vector<std::int64_t> in,
                     std::vector<std::int64_t> out) {
  MadeComm made{.name = "all_to_allv", .rank = rank};
  made.in = {0};
  made.out = {0};
  for (std::int64_t part : in) made.in[0] += part;
  for (std::int64_t part : out) made.out[0] += part;
  made.in_split = std::move(in);
  made.out_split = std::move(out);
  return made;
}

// Rank 0 of three has no trace; the second exchange_of of the others is the one that is looked for.
TraceJob job_without_rank_0(const MadeComm& of_1, const MadeComm& of_2) {
  return testing::made_job(MadeTrace(1).group("0", {0, 1, 2}).add({.rank = 1}).add(of_1),
                           MadeTrace(2).group("0", {0, 1, 2}).add({.rank = 2}).add(of_2));
}

std::optional<ExchangeSplits> find_splits(const TraceJob& job, std::string& fault) {
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  MissingSplits splits(job, groups);
  return splits.find({.position = 0, .group = 0, .node = 3}, 0, fault);
}

TEST(MissingSplits, AreTheTransposesOfTheOthers) {
  std::string fault;
  auto splits = find_splits(job_without_rank_0(exchange_of(1, {2, 3, 4}, {1, 3, 5}),
                                               exchange_of(2, {3, 5, 1}, {4, 4, 1})),
                            fault);
  ASSERT_TRUE(splits) << fault;
  // Rank 0 sends 1 to rank 1, which expects that from it, and 4 to rank 2; of 9 rows 4 are left.
  EXPECT_THAT(splits->in, ElementsAre(4, 1, 4));
  EXPECT_THAT(splits->out, ElementsAre(4, 2, 3));
}

TEST(MissingSplits, MustFitTheTensors) {
  std::string fault;
  EXPECT_FALSE(find_splits(job_without_rank_0(exchange_of(1, {2, 3, 4}, {9, 0, 0}),
                                              exchange_of(2, {3, 5, 1}, {4, 4, 1})),
                           fault));
  EXPECT_THAT(fault, HasSubstr("the others take 13 rows from it and give it 5, of tensors with 9"));
}

TEST(MissingSplits, NeedAllOthers) {
  std::string fault;
  EXPECT_FALSE(
      find_splits(job_without_rank_0(exchange_of(1, {2, 3, 4}, {1, 3, 5}), {.rank = 2}), fault));
  EXPECT_THAT(fault, HasSubstr("those of rank 2 aren't there"));
  TraceJob job = job_without_rank_0(exchange_of(1, {2, 3, 4}, {1, 3, 5}), {.rank = 2});
  job.ranks.pop_back();
  EXPECT_FALSE(find_splits(job, fault));
}

TEST(MissingSplits, EqualPartsAreEven) {
  EXPECT_TRUE((ExchangeSplits{}.are_even()));
  EXPECT_TRUE((ExchangeSplits{.in = {2, 2}, .out = {2, 2}}.are_even()));
  EXPECT_FALSE((ExchangeSplits{.in = {2, 2}, .out = {3, 3}}.are_even()));
  EXPECT_FALSE((ExchangeSplits{.in = {2, 2}, .out = {}}.are_even()));
  EXPECT_FALSE((ExchangeSplits{.in = {2, 3}, .out = {2, 2}}.are_even()));
}

}  // namespace
}  // namespace simmesh::replay
