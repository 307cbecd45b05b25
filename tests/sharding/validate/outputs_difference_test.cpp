#include "sharding/validate/outputs_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sharding/validate/sample_call.h"

namespace simmesh {
namespace {

using ::testing::StartsWith;

// Returns the parts of two ranks of the output of exp, cut by rows.
LocalOutputs halves_of(const WholeCall& call) {
  LocalOutputs outputs;
  for (std::int64_t rank : {0, 1})
    outputs.of_rank.push_back(
        {call.outputs[0].narrow({.dim = 0, .start = 2 * rank, .length = 2}).contiguous()});
  return outputs;
}

// If this fails, the validator confirms a rule whose outputs are wrong in one element.
TEST(OutputsDifference, SaysWhichOutputDiffersAndHow) {
  WholeCall call = testing::sample_call("exp", "ab");
  MeshPlacements rows = along_one_dim(rule({Shard(0)}, Shard(0)));
  LocalOutputs outputs = halves_of(call);
  EXPECT_EQ(outputs_difference(call, outputs, rows, Dims{2}), "");
  EXPECT_THAT(outputs_difference(call, outputs, along_one_dim(rule({Shard(0)}, Shard(1))), Dims{2}),
              StartsWith("output 0 as S(1): "));
  Tensor& second = outputs.of_rank[1][0];
  second = second.clone();
  second.mutable_data()[0] ^= std::byte(1);
  EXPECT_THAT(outputs_difference(call, outputs, rows, Dims{2}), StartsWith("output 0 as S(0): "));
}

TEST(OutputsDifference, SaysWhereInputsLie) {
  WholeCall call = testing::sample_call("mm", "ab bc");
  EXPECT_EQ(inputs_text(call, along_one_dim(rule({Shard(0), Replicate()}, Shard(0)))),
            "float64[4, 4] S(0), float64[4, 4] R");
  MeshPlacements two_dims{.inputs = {Placements{Shard(0), Replicate()}, std::nullopt},
                          .outputs = {Placements{Shard(0), Partial()}}};
  EXPECT_EQ(mesh_rule_text(two_dims), "[S(0),R],- -> [S(0),P(sum)]");
}

}  // namespace
}  // namespace simmesh
