#include "replay/validate/compare_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/validate/made_view.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using testing::MadeComm;
using testing::MadeTrace;
using ::testing::StartsWith;

// The findings about a group of ranks that do these collectives.
std::string rank_faults(const std::vector<std::vector<MadeComm>>& ranks) {
  TraceJob job;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    MadeTrace made{std::int64_t(rank)};
    made.group("0", {}, std::int64_t(ranks.size()));
    for (const MadeComm& comm : ranks[rank]) made.add(comm);
    job.ranks.push_back(made.done());
  }
  testing::MadeView made(job);
  Findings findings;
  for (const GroupTraffic& traffic : made.traffic())
    compare_ranks(made.view, traffic, made.faults, findings);
  return testing::findings_text(findings);
}

// Each rank of two to four does something else than the others; with three and more the others are
// the majority, of two the second is blamed.
void expect_blamed(const MadeComm& usual, const MadeComm& other, const std::string& rule) {
  for (std::size_t size = 2; size <= 4; ++size)
    for (std::size_t odd = 0; odd < size; ++odd) {
      std::vector<std::vector<MadeComm>> ranks(size,
                                               {{.name = "barrier", .in = {}, .out = {}}, usual});
      EXPECT_EQ(rank_faults(ranks), "");
      ranks[odd][1] = other;
      std::size_t blamed = size == 2 ? 1 : odd;
      std::string text = rank_faults(ranks);
      EXPECT_THAT(text, StartsWith(fmt::format("error {}: rank {} node 4 ", rule, blamed)));
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
      // The other side is named too.
      EXPECT_THAT(text, HasSubstr(fmt::format("rank {} node 4", blamed == 0 ? 1 : 0)));
    }
}

TEST(CompareRanks, FindsAnotherOperation) {
  expect_blamed({}, {.name = "broadcast"}, "order");
  expect_blamed({.name = "_allgather_base", .out = {}}, {.name = "all_gather", .out = {}}, "order");
}

TEST(CompareRanks, FindsAnotherDtype) {
  expect_blamed({}, {.type = "long int", .dtype = "Long", .item_bytes = 8}, "dtype");
}

TEST(CompareRanks, FindsAnotherRoot) {
  for (const char* name : {"broadcast", "reduce"})
    expect_blamed({.name = name, .rank = 0}, {.name = name, .rank = 1}, "root");
}

TEST(CompareRanks, FindsAnotherSize) {
  for (const char* name : {"allreduce", "allreduce_coalesced", "broadcast", "reduce"})
    expect_blamed({.name = name}, {.name = name, .in = {4}, .out = {4}}, "size_relation");
  for (const char* name : {"_allgather_base", "_reduce_scatter_base", "gather", "all_to_all"})
    expect_blamed({.name = name, .in = {24}, .out = {}}, {.name = name, .in = {48}, .out = {}},
                  "size_relation");
  expect_blamed({.name = "scatter", .in = {}}, {.name = "scatter", .in = {}, .out = {4}},
                "size_relation");
}

// After the first difference of a rank no other of that rank is said.
TEST(CompareRanks, SaysTheFirstDivergenceOnly) {
  std::vector<MadeComm> usual = {{.name = "allreduce"}, {.name = "broadcast"}, {.name = "reduce"}};
  std::vector<MadeComm> turned(usual.rbegin(), usual.rend());
  EXPECT_EQ(rank_faults({usual, usual, turned}),
            "error order: rank 2 node 3 name: expected allreduce as collective 0 of the group of "
            "ranks [0, 1, 2], as rank 0 node 3 has it, got reduce\n");
}

TEST(CompareRanks, FindsOneMoreAndOneFewer) {
  std::vector<MadeComm> two(2), three(3);
  EXPECT_THAT(rank_faults({two, three, two}), StartsWith("error count: rank 1 node 5 name: "));
  EXPECT_THAT(rank_faults({three, two, three}), StartsWith("error count: rank 1 name: "));
  EXPECT_THAT(rank_faults({three, {}}), HasSubstr("it never joins rank 0 node 3"));
}

TEST(CompareRanks, UnevenGathersAreSound) {
  auto gather = [](std::int64_t own) {
    return MadeComm{.name = "all_gather", .in = {own}, .out = {1, 2, 3}};
  };
  EXPECT_EQ(rank_faults({{gather(1)}, {gather(2)}, {gather(3)}}), "");
}

}  // namespace
}  // namespace simmesh::replay
