#include "pipeline/schedule/stage_map.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using Ranks = std::vector<std::int64_t>;

// If this fails, a stage runs on another rank than in PyTorch.
TEST(PipelineStageMap, LaysStagesInALoopAndInAV) {
  EXPECT_EQ(StageMap::of_style(StageStyle::loop, {3, 5}).ranks(5), (Ranks{0, 1, 2, 0, 1}));
  StageMap v = StageMap::of_style(stage_style_from_string("v"), {3, 9});
  EXPECT_EQ(v.ranks(9), (Ranks{0, 1, 2, 2, 1, 0, 0, 1, 2}));
  EXPECT_EQ(v.stages_of(0), (Ranks{0, 5, 6}));
  expect_error(
      [] {
        StageMap::of_style(StageStyle::v, {3, 4});
      },
      ErrorKind::value_error, "divisible");
  expect_error([] { stage_style_from_string("w"); }, ErrorKind::value_error, "Style w");
}

// If this fails, a stage on two ranks isn't noticed.
TEST(PipelineStageMap, KeepsTheFirstRankOfAStage) {
  StageMap map;
  EXPECT_EQ(map.put(4, 1), 1);
  EXPECT_EQ(map.put(4, 2), 1);
  EXPECT_EQ(map.rank_of(4), 1);
  expect_error([&] { map.rank_of(5); }, ErrorKind::key_error, "5");
}

// If this fails, a rank meets two others in one round.
TEST(PipelineStageMap, ConnectsDisjointPairsInRounds) {
  EdgeRounds rounds = connection_rounds({0, 1, 2, 3, 0, 1, 2, 3});
  EXPECT_EQ(rounds, (EdgeRounds{{{0, 1}, {2, 3}}, {{0, 3}, {1, 2}}}));
  EXPECT_EQ(directed_rounds({0, 1, 1, 0}), (EdgeRounds{{{0, 1}}, {{1, 0}}}));
  EXPECT_TRUE(connection_rounds({0, 0}).empty());
}

}  // namespace
}  // namespace simmesh::pipeline
