#include "core/ops/shapes/joining.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/shapes/views.h"
#include "sharding/dtensor/dispatched_op.h"
#include "tests/expect_error.h"
#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using testing::error_text;

using namespace whole_tensor_oracle;

TEST(JoiningStrategies, CatOfEverySplit) {
  for (std::int64_t dim : {0, -1})
    expect_whole_bits({.name = "cat",
                       .inputs = {values({4, 3}, {Partial(ReduceOp::sum)}),
                                  values({4, 3}, {Partial(ReduceOp::max)})},
                       .function = [=](Given x) -> Tensors { return {cat(x, dim)}; }},
                      {.schedules = {"fifo"}});
}

// Without the R of the vector that is left out, its one dim would be split.
TEST(JoiningStrategies, CatLeavesEmptyVectorsOut) {
  expect_whole_bits({.name = "cat of an empty vector",
                     .inputs = {{.shape = {0}, .alphabet = shards_and(1)},
                                values({5, 3}, {Partial(ReduceOp::sum)})},
                     .function = [](Given x) -> Tensors { return {cat(x, 1)}; },
                     .has_gradient = false});
}

// Shards, copies and partial tensors of one kind: what stack can bring together.
TEST(JoiningStrategies, StackOfEverySplit) {
  for (std::int64_t dim : {0, 1, -1})
    expect_whole_bits(
        {.name = "stack",
         .inputs = {values({4, 3}, {Partial(ReduceOp::sum)}),
                    {.shape = {4, 3}, .alphabet = {Replicate(), Shard(1), Partial(ReduceOp::sum)}}},
         .function = [=](Given x) -> Tensors { return {stack(x, dim)}; }},
        {.schedules = {"fifo"}});
}

// Pieces without a gradient have zeros.
TEST(JoiningStrategies, GradientsOfUnusedPieces) {
  for (std::size_t used : {0, 1})
    expect_whole_bits({.name = "split, chunk and unbind with unused pieces",
                       .inputs = {values({4, 3}, {Partial(ReduceOp::sum)})},
                       .function = [=](Given x) -> Tensors {
                         Tensor part = split(x[0], 2, 0)[used];
                         return {chunk(part, 2, -1)[used]};
                       }});
}

std::string stacked(const char* first, const char* second, const char* third,
                    const Shape& mesh_shape) {
  std::string text;
  World world({.ranks = std::size_t(numel(mesh_shape))});
  Outcome outcome = world.run([&](Rank& rank) {
    DeviceMesh mesh = init_device_mesh(mesh_shape);
    std::vector<Tensor> tensors;
    for (const char* placements : {first, second, third})
      tensors.push_back(
          distributed(formula({4, 6}, {.rule = Rule::small}), mesh, parse_placements(placements))
              .as_tensor());
    std::string refusal = error_text([&] {
      Tensor result = stack(tensors, 1);
      if (rank.id() == 0) text = to_string(PlacementSpan(DTensor::of(result).placements()));
    });
    if (rank.id() == 0 && !refusal.empty()) text = refusal;
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return text;
}

TEST(JoiningStrategies, StackFollowsShardsThenPartialTensors) {
  EXPECT_EQ(stacked("P(avg)", "S(0)", "P(avg)", {4}), "S(0)");
  EXPECT_EQ(stacked("S(1),S(1)", "S(0),P(min)", "R,R", {2, 2}), "R,S(2)");
  EXPECT_EQ(stacked("P(min)", "P(max)", "R", {2}), "R");
  EXPECT_EQ(stacked("R", "P(sum)", "R", {2}), "P(sum)");
  EXPECT_NE(stacked("S(1)", "S(0)", "P(min)", {2}).find("not supported"), std::string::npos);
}

}  // namespace
}  // namespace simmesh
