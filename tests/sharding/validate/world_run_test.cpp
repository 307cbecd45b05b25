#include "sharding/validate/world_run.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/check/check.h"
#include "core/ops/call.h"
#include "sharding/validate/crafted_inputs.h"
#include "tests/expect_error.h"
#include "tests/sharding/validate/sample_call.h"

namespace simmesh {
namespace {

// A strategy for exp of a tensor that is cut by rows: each rank gathers them and computes the
// whole. Without a world, asking for the group is an error that says so.
ShardingStrategy gathering(const WholeCall& whole) {
  ShardingStrategy strategy = whole.strategy;
  strategy.compute = [](const LocalCall& call) {
    Tensor all = all_gather(call.inputs[0], {.dim = 0}, ProcessGroup::world());
    return std::vector{simmesh::call_one(*find_op("exp"), {all})};
  };
  return strategy;
}

WholeCall with_strategy(const WholeCall& whole, const ShardingStrategy& strategy) {
  return {whole.op,      strategy,          whole.attributes,  whole.inputs,
          whole.outputs, whole.input_types, whole.output_types};
}

// If this fails, rules of ops that communicate can't be judged, or are judged in another
// arithmetic.
TEST(WorldRun, AComputationThatCommunicatesRunsInAWorld) {
  WholeCall whole = testing::sample_call("exp", "ab");
  ShardingStrategy strategy = gathering(whole);
  WholeCall call = with_strategy(whole, strategy);
  LocalRun ranks(Dims{2});
  CraftedInputs crafted(call, ranks.mesh_shape(), 0);
  MeshPlacements rows = along_one_dim(rule({Shard(0)}, Replicate()));
  LocalOutputs outputs = run_claimed(ranks, call, crafted.of(rows), rows);
  ASSERT_EQ(outputs.of_rank.size(), 2u);
  for (const auto& of_rank : outputs.of_rank) EXPECT_TRUE(same_bits(of_rank[0], whole.outputs[0]));
}

// If this fails, a defect of ours on a rank reads as a rule that doesn't hold.
TEST(WorldRun, OnlyErrorsOfRanksAreReported) {
  WholeCall whole = testing::sample_call("exp", "ab");
  LocalRun ranks(Dims{2});
  MeshPlacements rows = along_one_dim(rule({Shard(0)}, Shard(0)));
  ShardingStrategy strategy = whole.strategy;
  WholeCall call = with_strategy(whole, strategy);
  CraftedInputs crafted(call, ranks.mesh_shape(), 0);
  strategy.compute = [](const LocalCall&) -> std::vector<Tensor> {
    raise(ErrorKind::index_error, "test", "expected nothing");
  };
  testing::expect_error([&] { run_in_world(call, Dims{2}, crafted.of(rows), rows); },
                        ErrorKind::runtime_error, "expected nothing");
  strategy.compute = [](const LocalCall&) -> std::vector<Tensor> {
    SIMMESH_CHECK(false, "nobody may come here");
  };
  EXPECT_THROW(run_in_world(call, Dims{2}, crafted.of(rows), rows), ContractViolation);
}

}  // namespace
}  // namespace simmesh
