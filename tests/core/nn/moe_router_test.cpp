#include "core/nn/moe_router.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/moe.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "tests/expect_error.h"

namespace simmesh::nn {
namespace {

using simmesh::testing::expect_error;

std::vector<std::int64_t> chosen_of(const Tensor& scores, const RouterOptions& options,
                                    std::int64_t top_k, const Tensor& bias = {}) {
  Tensor chosen = choose_experts(scores, bias, options, top_k);
  auto values = chosen.values<std::int64_t>();
  return {values.begin(), values.end()};
}

// If this fails, a token goes to more nodes than its limit, or to a node for one good expert where
// another node has two.
TEST(MoeRouter, TokensStayInTheirBestGroups) {
  Tensor scores = tensor_of<float>({2, 6}, {9, 0, 5, 5, 6, 1, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(chosen_of(scores, {}, 3), (std::vector<std::int64_t>{0, 4, 2, 5, 4, 3}));
  EXPECT_EQ(chosen_of(scores, {.groups = 3, .top_groups = 1}, 2),
            (std::vector<std::int64_t>{2, 3, 5, 4}));
  EXPECT_EQ(chosen_of(scores, {.groups = 3, .top_groups = 2}, 3),
            (std::vector<std::int64_t>{0, 2, 3, 5, 4, 3}));
  Tensor bias = tensor_of<float>({6}, {-9, 9, 0, 0, 0, 0});
  EXPECT_EQ(chosen_of(scores, {}, 1, bias), (std::vector<std::int64_t>{1, 1}));
}

// If this fails, the bias changes the weights of experts, which it must not.
TEST(MoeRouter, SharesAreThoseOfTheScores) {
  Tensor scores = tensor_of<float>({1, 3}, {0.25F, 0.5F, 0.25F});
  Tensor shares = expert_shares(scores, tensor_of<std::int64_t>({1, 2}, {2, 1}), {.scale = 3});
  EXPECT_EQ(shares.values<float>()[0], 1.0F);
  EXPECT_EQ(shares.values<float>()[1], 2.0F);
  Tensor zero = zeros({1, 2}, DType::float32);
  EXPECT_EQ(router_scores(zero, router_score_from_string("sigmoid")).values<float>()[1], 0.5F);
  EXPECT_EQ(router_scores(zero, router_score_from_string("softmax")).values<float>()[1], 0.5F);
  expect_error([] { router_score_from_string("tanh"); }, ErrorKind::value_error, "'tanh'");
}

TEST(MoeRouter, RefusesGroupsThatDoNotFit) {
  expect_error(
      [] {
        check_router({.groups = 4}, {6, 1});
      },
      ErrorKind::value_error, "groups that divide 6 experts, got 4");
  expect_error(
      [] {
        check_router({.groups = 3, .top_groups = 4}, {6, 1});
      },
      ErrorKind::value_error, "top_groups of 1..3 groups, got 4");
  expect_error(
      [] {
        check_router({.groups = 3, .top_groups = 1}, {6, 3});
      },
      ErrorKind::value_error, "at least 3 experts in the groups of a token, got 2");
}

// If this fails, a loss inside a model gets no gradient, or changes what the model computes.
TEST(MoeRouter, AnInnerLossGetsItsGradient) {
  Tensor x = tensor_of<float>({2}, {1, 2}), w = tensor_of<float>({2}, {3, 5});
  set_requires_grad(x);
  set_requires_grad(w);
  Tensor y = with_loss(mul(x, 2), sum(mul(w, w)), 0.5);
  EXPECT_EQ(y.values<float>()[1], 4.0F);
  backward(sum(y));
  EXPECT_EQ(grad_of(x).values<float>()[0], 2.0F);
  EXPECT_EQ(grad_of(w).values<float>()[1], 5.0F);
}

Moe two_experts(RouterOptions router) {
  return Moe({.width = 2, .hidden = 1, .experts = 2, .top_k = 1, .router = router});
}

// If this fails, the auxiliary loss isn't experts * sum(share of choices * mean probability), or a
// bias moves away from balance.
TEST(MoeRouter, LossesAndBiasesBalanceTheExperts) {
  Moe moe = two_experts({.aux_loss = 1.0, .bias_rate = 0.25});
  // The router's weight is zero at first: all tokens choose the first of two equal experts.
  Tensor weight = moe.child("router").parameter("weight").detach();
  copy_(weight, zeros({2, 2}, DType::float32));
  moe(tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  Moe::RouterLosses losses = moe.router_losses();
  EXPECT_EQ(losses.aux, 1.0);
  EXPECT_NEAR(losses.z, 0.4804530139182014, 0x1p-22);  // log(2)^2 in float32
  moe.update_bias();
  EXPECT_EQ(moe.buffers()[0].tensor.values<float>()[0], -0.25F);
  EXPECT_EQ(moe.buffers()[0].tensor.values<float>()[1], 0.25F);
  moe(tensor_of<float>({1, 2}, {1, 2}));
  moe.update_bias();
  EXPECT_EQ(moe.buffers()[0].tensor.values<float>()[1], 0.0F);
}

}  // namespace
}  // namespace simmesh::nn
