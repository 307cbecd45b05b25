#include "replay/analysis/collective_order.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::dlrm_timeline;
using testing::hand_job;
using testing::hand_rank;
using testing::HandSpan;

// Would fail if communications were ordered by their begin instead of their issue: the second one
// was issued first and ended last.
TEST(ReplayCollectiveOrder, FindsWhatIsOvertaken) {
  RankTimeline rank = hand_rank(0, {comm(2, 9, 0, 1), comm(3, 8, 1, 0), comm(4, 5, 1, 2)});
  EXPECT_EQ(overtaken_comms(rank), (std::vector<OvertakenComm>{{1, 2}, {0, 2}}));
}

TEST(ReplayCollectiveOrder, FindsNothingWhereTheOrderIsKept) {
  EXPECT_TRUE(overtaken_comms(hand_rank(0, {comm(0, 3), comm(1, 3), comm(4, 5)})).empty());
  EXPECT_TRUE(overtaken_comms(hand_rank(0, {})).empty());
  EXPECT_EQ(overtaken_comms(hand_rank(0, {comm(0, 9), comm(1, 3)})),
            (std::vector<OvertakenComm>{{0, 1}}));
}

std::vector<ReorderedCollective> reordered(const JobTimeline& job) {
  return reordered_collectives(job, job_collectives(job));
}

// Would fail if two groups in one order on one rank and in another on another rank went unnoticed.
TEST(ReplayCollectiveOrder, FindsGroupsInAnotherOrder) {
  JobTimeline job = hand_job({{comm(0, 1, 0), comm(2, 3, 1), comm(4, 5, 0)},
                              {comm(0, 1, 1), comm(2, 3, 0), comm(4, 5, 0)}},
                             2);
  EXPECT_EQ(reordered(job), (std::vector<ReorderedCollective>{{0, 1, 0}, {1, 0, 1}}));
}

TEST(ReplayCollectiveOrder, OfARealJobIsOneOrder) {
  EXPECT_TRUE(reordered(dlrm_timeline()).empty());
  for (const RankTimeline& rank : dlrm_timeline().ranks) EXPECT_TRUE(overtaken_comms(rank).empty());
}

// agrees is true if some order of the groups agrees with all ranks; it tries every one.
bool agrees(const std::vector<std::vector<std::uint32_t>>& ranks, std::uint32_t groups) {
  std::vector<std::uint32_t> order(groups), places(groups);
  std::iota(order.begin(), order.end(), 0u);
  do {
    for (std::uint32_t i = 0; i < groups; ++i) places[order[i]] = i;
    bool is_kept = std::all_of(ranks.begin(), ranks.end(), [&](const auto& sequence) {
      return std::is_sorted(sequence.begin(), sequence.end(),
                            [&](auto a, auto b) { return places[a] < places[b]; });
    });
    if (is_kept) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

// Would fail if the answer differed from trying every order: all ways in which three ranks reach up
// to four groups of one collective each; a rank may leave some out.
TEST(ReplayCollectiveOrder, IsWhatTryingEveryOrderGives) {
  std::vector<std::vector<std::uint32_t>> sequences = {{}};
  for (std::size_t first = 0; first < sequences.size(); ++first)
    for (std::uint32_t group = 0; group < 4; ++group) {
      std::vector<std::uint32_t> longer = sequences[first];
      if (std::find(longer.begin(), longer.end(), group) != longer.end()) continue;
      longer.push_back(group);
      sequences.push_back(longer);
    }
  ASSERT_EQ(sequences.size(), 65u);
  for (const auto& a : sequences)
    for (const auto& b : sequences)
      for (const auto& c : {sequences[0], sequences[9], sequences[30], sequences[50]}) {
        std::vector<std::vector<HandSpan>> spans;
        for (const auto& sequence : {a, b, c}) {
          spans.emplace_back();
          for (std::uint32_t group : sequence)
            spans.back().push_back(comm(double(spans.back().size()), 9, group));
        }
        ASSERT_EQ(reordered(hand_job(spans, 4)).empty(), agrees({a, b, c}, 4));
      }
}

}  // namespace

}  // namespace simmesh::replay
