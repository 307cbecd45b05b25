#include "sharding/validate/local_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ops/call.h"
#include "core/ops/shapes/factories.h"
#include "sharding/validate/crafted_inputs.h"
#include "tests/expect_error.h"
#include "tests/sharding/validate/sample_call.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::sample_call;

TEST(LocalRun, RunsTheOpOnEachRanksPieces) {
  WholeCall call = sample_call("mm", "ab bc");
  EXPECT_THAT(call.output_types, ElementsAre(type_of(call.outputs[0])));
  LocalRun world(Dims{2});
  EXPECT_EQ(world.ranks(), 2u);
  CraftedInputs crafted(call, world.mesh_shape(), 0);
  MeshPlacements rows = along_one_dim(rule({Shard(0), Replicate()}, Shard(0)));
  LocalOutputs outputs = world.run(call, crafted.of(rows), rows);
  ASSERT_EQ(outputs.of_rank.size(), 2u);
  for (std::int64_t rank : {0, 1})
    EXPECT_TRUE(same_bits(outputs.of_rank[std::size_t(rank)][0],
                          call.outputs[0].narrow({.dim = 0, .start = 2 * rank, .length = 2})));
}

constexpr Attribute<std::int64_t> coordinate{"coordinate"};

// If this fails, an op whose sizes are arguments runs with those of the whole tensors.
TEST(LocalRun, AsksTheStrategyForArgumentsAndComputation) {
  WholeCall whole = sample_call("exp", "ab");
  ShardingStrategy own = whole.strategy;
  own.local_attributes = [](const LocalCall& call) -> Attributes {
    return {coordinate = call.input_specs[0]->groups->coordinate()[0]};
  };
  own.compute = [](const LocalCall& call) {
    return std::vector{full({1}, DType::float32, double(call.attributes.get(coordinate)))};
  };
  WholeCall call{whole.op,          own, {}, whole.inputs, whole.outputs, whole.input_types,
                 whole.output_types};
  LocalRun world(Dims{3});
  CraftedInputs crafted(call, world.mesh_shape(), 0);
  MeshPlacements rows = along_one_dim(rule({Shard(0)}, Shard(0)));
  LocalOutputs outputs = world.run(call, crafted.of(rows), rows);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(outputs.of_rank[rank][0].values<float>()[0], float(rank));
    EXPECT_EQ(outputs.attributes[rank].get(coordinate), std::int64_t(rank));
  }
}

TEST(LocalRun, RaisesWhatTheOpRaises) {
  const Op& mm = *find_op("mm");
  testing::expect_error(
      [&] {
        whole_call(mm, *strategy_of(mm), {},
                   {zeros({2, 3}, DType::float32), zeros({2, 3}, DType::float32)});
      },
      ErrorKind::runtime_error, "");
}

}  // namespace
}  // namespace simmesh
