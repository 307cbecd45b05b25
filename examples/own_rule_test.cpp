// Is the sharding rule of my function right: for uneven and empty pieces, and for its gradients?
#include <fmt/core.h>

#include <simmesh/sharding/rules/check_rule.h>
#include <simmesh/simmesh.h>
#include <simmesh/testing/gtest.h>

using namespace simmesh;

// A layer with a bias. Where the inner dim is cut, every rank adds the bias to its own terms.
Tensor layer(const Tensor& x, const Tensor& w, const Tensor& bias) {
  return relu(matmul(x, w) + bias);
}
Tensor with_bias(const Tensor& x, const Tensor& w, const Tensor& bias) {
  return matmul(x, w) + bias;
}

// The same on ranks that hold pieces of the inner dim: their terms are added up.
Tensor on_ranks(const Tensor& x, const Tensor& w, const Tensor& bias, const DeviceMesh& mesh) {
  return all_reduce(matmul(x, w), ReduceOp::sum, process_group(mesh, 0)) + bias;
}

const std::vector<RuleInput> letters = {"mk", "kn", "n"};

TEST(OwnRule, RowsAndColumnsCanBeCut) {
  EXPECT_TRUE(check_rule(layer, {"S(0), R, R -> S(0)", "R, S(1), S(0) -> S(1)"}, letters));
}

TEST(OwnRule, TheInnerDimCanBeCutWhereTheBiasIsOneOfTheTerms) {
  CheckRuleOptions claimed_alone{.unclaimed = false};
  EXPECT_TRUE(check_rule(with_bias, "S(1), S(0), P -> P", letters, claimed_alone));
  RuleCheck wrong = check_rule(with_bias, "S(1), S(0), R -> P", letters, claimed_alone);
  EXPECT_FALSE(wrong.holds());
  fmt::print("{}\n", wrong.counter_example()->text());
}

TEST(OwnRule, RanksThatCommunicateGiveTheBitsOfOneDevice) {
  EXPECT_TRUE(check_rule(on_ranks, "S(1), S(0), R -> R", letters,
                         {.meshes = {{2}, {3}, {4}}, .backward = false, .unclaimed = false}));
}

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
