#include "sharding/validate/outputs_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sharding/validate/sample_call.h"

namespace simmesh {
namespace {

using ::testing::StartsWith;

// Returns the parts of two ranks of the output of exp, cut by rows.
std::vector<Tensor> halves_of(const WholeCall& call) {
  std::vector<Tensor> halves;
  for (std::int64_t rank : {0, 1})
    halves.push_back(
        call.outputs[0].narrow({.dim = 0, .start = 2 * rank, .length = 2}).contiguous());
  return halves;
}

LocalOutputs outputs_of(const std::vector<Tensor>& ranks) {
  LocalOutputs outputs;
  for (const Tensor& of_rank : ranks) outputs.of_rank.emplace_back(std::vector{of_rank});
  return outputs;
}

// If this fails, the validator confirms a rule whose outputs are wrong in one element.
TEST(OutputsDifference, SaysWhichOutputDiffersAndHow) {
  WholeCall call = testing::sample_call("exp", "ab");
  MeshPlacements rows = along_one_dim(rule({Shard(0)}, Shard(0)));
  std::vector<Tensor> halves = halves_of(call);
  LocalOutputs outputs = outputs_of(halves);
  EXPECT_EQ(outputs_difference(call, outputs, rows, Dims{2}), "");
  EXPECT_THAT(outputs_difference(call, outputs, along_one_dim(rule({Shard(0)}, Shard(1))), Dims{2}),
              StartsWith("output 0 as S(1): "));
  halves[1] = halves[1].clone();
  halves[1].mutable_data()[0] ^= std::byte(1);
  EXPECT_THAT(outputs_difference(call, outputs_of(halves), rows, Dims{2}),
              StartsWith("output 0 as S(0): "));
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
