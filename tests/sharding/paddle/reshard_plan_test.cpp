#include "sharding/paddle/reshard_plan.h"

#include <gtest/gtest.h>

#include "core/check/error.h"

namespace simmesh::paddle {
namespace {

std::string steps(const Shape& shape, const Dims& mesh, const Placements& from,
                  const Placements& to) {
  std::string text;
  for (const PlanStep& step : plan_reshard(shape, mesh, from, to).steps)
    text += (text.empty() ? "" : ", ") + to_string(step);
  return text;
}

// Partial values first, then gathers from the inside, then cuts from the outside.
TEST(ReshardPlan, StepsComeInPaddlesOrder) {
  EXPECT_EQ(
      steps({8, 8}, {2, 2, 2}, {Shard(0), Partial(), Shard(0)}, {Partial(), Replicate(), Shard(1)}),
      "P(sum)->R on mesh dim 1, S(0)->R on mesh dim 2, S(0)->R on mesh dim 0, "
      "R->P(sum) on mesh dim 0, R->S(1) on mesh dim 2");
  EXPECT_EQ(steps({8, 8}, {2, 2}, {Partial(), Shard(1)}, {Shard(0), Shard(1)}),
            "P(sum)->S(0) on mesh dim 0");
  EXPECT_EQ(steps({8, 8}, {2, 2}, {Partial(), Replicate()}, {Partial(), Shard(1)}),
            "R->S(1) on mesh dim 1");
}

TEST(ReshardPlan, OneMeshDimExchanges) {
  EXPECT_EQ(steps({8, 8}, {2}, {Shard(0)}, {Shard(1)}), "S(0)->S(1) on mesh dim 0");
  EXPECT_EQ(steps({8, 8}, {2}, {Shard(0)}, {Partial()}),
            "S(0)->R on mesh dim 0, R->P(sum) on mesh dim 0");
}

TEST(ReshardPlan, RefusesToReduceIntoUnevenPieces) {
  EXPECT_THROW(steps({3, 2}, {2, 2}, {Replicate(), Partial()}, {Shard(1), Shard(1)}), Error);
  EXPECT_EQ(steps({3, 4}, {2, 2}, {Replicate(), Partial()}, {Shard(1), Shard(1)}),
            "R->S(1) on mesh dim 0, P(sum)->S(1) on mesh dim 1");
}

}  // namespace
}  // namespace simmesh::paddle
