#include "core/nn/moe.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/model_node.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh::nn {
namespace {

using simmesh::testing::expect_error;

Moe::Options options_of(const RouterOptions& router) {
  return {.width = 4, .hidden = 6, .experts = 4, .top_k = 2, .router = router};
}

Tensor filled_tokens(Moe& moe, std::int64_t tokens) {
  std::uint64_t seed = 10;
  for (auto& [name, parameter] : moe.named_parameters()) {
    Tensor target = parameter.detach();
    copy_(target, formula(parameter.shape(), {.rule = Rule::unit, .seed = ++seed}));
  }
  return formula({tokens, 4}, {.rule = Rule::unit, .seed = 1});
}

TEST(Moe, RefusesGroupsThatDoNotFit) {
  expect_error([] { Moe moe(options_of({.groups = 3})); }, ErrorKind::value_error,
               "divides the 4 experts, got 3");
  expect_error([] { Moe moe(options_of({.groups = 4, .top_groups = 1})); }, ErrorKind::value_error,
               "with at least 2 experts, got 1");
}

// The bias is state that a checkpoint keeps, and no parameter.
TEST(Moe, ABiasIsABuffer) {
  Moe moe(options_of({.bias_rate = 0.1}));
  EXPECT_TRUE(same_bits(moe.bias(), zeros({4}, DType::float32)));
  moe.set_bias(full({4}, DType::float32, 2.0));
  bool is_found = false;
  for (const auto& [name, tensor] : moe.state_dict())
    if (name == "expert_bias") is_found = same_bits(tensor, full({4}, DType::float32, 2.0));
  EXPECT_TRUE(is_found);
  for (const auto& [name, tensor] : moe.named_parameters()) EXPECT_NE(name, "expert_bias");
  EXPECT_FALSE(Moe(options_of({})).bias().is_defined());
}

// A batch that drops all tokens, and notes what it is told.
struct EmptyBatch final : MoeBatch {
  RoutingDecision decide(const Moe&, const Routing& routing, const Shape& x) override {
    shape = x;
    return {std::vector<ExpertTokens>(4), {{routing.experts.numel(), 0, 0, 0}, 10}};
  }
  double add_terms(const Moe&, const Tensor& given) override {
    terms = given;
    return 3.0;
  }
  Shape shape;
  Tensor terms;
};

// Where no token gets an expert, only the losses give the router a gradient: terms / tokens, scaled
// as the batch says.
TEST(Moe, FollowsItsBatch) {
  Moe moe(options_of({.z_loss = 0.5}));
  Tensor x = filled_tokens(moe, 6);
  EmptyBatch batch;
  moe.set_batch(&batch);
  Tensor y = moe(x);
  EXPECT_TRUE(same_bits(y.detach(), zeros({6, 4}, DType::float32)));
  EXPECT_EQ(batch.shape, (Shape{6, 4}));
  backward(sum(y));
  Tensor with_batch = grad_of(moe.child("router").parameter("weight"));

  moe.zero_grad();
  Routing routing = moe.route(x);
  Tensor terms = loss_terms(routing, moe.options().router, {{}, 10});
  EXPECT_TRUE(same_bits(batch.terms, terms.detach()));
  backward(terms, {.gradients = {full({6}, DType::float32, 3.0 / 10)}});
  EXPECT_TRUE(same_bits(with_batch, grad_of(moe.child("router").parameter("weight"))));
}

// A rank whose tokens are all dropped takes part in backward.
TEST(Moe, WithoutTokensHasGradientsOfZeros) {
  Moe moe(options_of({}));
  Tensor x = filled_tokens(moe, 0);
  set_requires_grad(x);
  backward(sum(moe(x)));
  EXPECT_TRUE(
      same_bits(grad_of(moe.child("router").parameter("weight")), zeros({4, 4}, DType::float32)));
}

// A router without capacity or losses keeps no scores while its experts run.
TEST(Moe, KeepsOnlyScoresThatAreUsed) {
  Moe plain(options_of({})), balanced(options_of({.aux_loss = 1.0}));
  Tensor x = filled_tokens(plain, 6);
  EXPECT_FALSE(plain.route(x).scores.is_defined());
  EXPECT_TRUE(plain.route(x).shares.is_defined());
  EXPECT_TRUE(balanced.route(x).scores.is_defined());
}

// The load balance loss counts choices that a capacity drops.
TEST(Moe, DecidesForTheTokensOfACall) {
  Moe::Options options = options_of({.drop = DropOrder::position, .aux_loss = 1.0});
  options.capacity_factor = 0.5;
  Moe moe(options);
  Tensor x = filled_tokens(moe, 8);
  Routing routing = moe.route(x);
  RoutingDecision decision = moe.decide(routing, x.shape());
  std::int64_t loads = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_LE(decision.experts[i].tokens.size(), 2U);
    loads += decision.load.loads[i];
  }
  EXPECT_EQ(loads, 16);
  EXPECT_TRUE(moe.needs_batch());
  EXPECT_EQ(moe.capacity_of(8), 2);
  options.router = {.drop = DropOrder::none};
  EXPECT_EQ(Moe(options).capacity_of(8), 0);
  EXPECT_FALSE(Moe(options).needs_batch());
}

// Each field of the node is an option; unknown words are refused.
TEST(Moe, IsBuiltFromANode) {
  ModelNode node{"m",
                 "moe",
                 {{"dim", std::int64_t(4)},
                  {"hidden", std::int64_t(6)},
                  {"experts", std::int64_t(4)},
                  {"shared", std::int64_t(1)},
                  {"drop", std::string("probability")},
                  {"score", std::string("sigmoid")},
                  {"normalize", false},
                  {"scaling", 2.5},
                  {"groups", std::int64_t(2)},
                  {"top_groups", std::int64_t(1)},
                  {"aux_loss", 0.01},
                  {"z_loss", 0.001},
                  {"bias_rate", 0.1}},
                 {}};
  auto moe = std::dynamic_pointer_cast<Moe>(build(node));
  const RouterOptions& router = moe->options().router;
  EXPECT_EQ(router.drop, DropOrder::probability);
  EXPECT_EQ(router.score, RouterScore::sigmoid);
  EXPECT_FALSE(router.normalizes);
  EXPECT_EQ(router.scaling, 2.5);
  EXPECT_EQ(router.groups, 2);
  EXPECT_EQ(router.top_groups, 1);
  EXPECT_EQ(router.aux_loss, 0.01);
  EXPECT_EQ(router.z_loss, 0.001);
  EXPECT_EQ(router.bias_rate, 0.1);
  EXPECT_EQ(moe->options().shared, 1);
  node.fields["drop"] = std::string("last");
  expect_error([&] { build(node); }, ErrorKind::value_error, "expected a known drop, got 'last'");
}

}  // namespace
}  // namespace simmesh::nn
