#include "core/nn/router.h"

#include <cmath>
#include <gmock/gmock.h>

#include "core/autograd/backward.h"
#include "core/autograd/gradcheck.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "core/tensor/scalar_value.h"

namespace simmesh::nn {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> whole_numbers(const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  auto values = rows.values<std::int64_t>();
  return {values.begin(), values.end()};
}

std::vector<double> doubles_of(const Tensor& tensor) {
  Tensor rows = converted(tensor.detach(), DType::float64).contiguous();
  auto values = rows.values<double>();
  return {values.begin(), values.end()};
}

double logit_of(double probability) { return std::log(probability / (1 - probability)); }

// The logits of one token, whose sigmoids are these.
Tensor token_of(const std::vector<double>& sigmoids) {
  Tensor logits = empty({1, std::int64_t(sigmoids.size())}, DType::float64);
  for (std::size_t i = 0; i < sigmoids.size(); ++i)
    logits.mutable_values<double>()[i] = logit_of(sigmoids[i]);
  return logits;
}

TEST(Router, NamesItsWords) {
  EXPECT_EQ(router_score_from_string("sigmoid"), RouterScore::sigmoid);
  EXPECT_EQ(router_score_from_string("tanh"), std::nullopt);
  for (const char* name : {"choice", "position", "probability", "none"})
    EXPECT_EQ(to_string(drop_order_from_string(name).value()), name);
  EXPECT_EQ(drop_order_from_string("last"), std::nullopt);
}

// If this fails, a forced balance follows the scores, or not the numbers of the tokens.
TEST(Router, ForcedBalanceTakesExpertsInTurn) {
  Tensor logits = formula({3, 4}, {.rule = Rule::unit, .seed = 1, .dtype = DType::float64});
  RouterOptions options{.force_load_balance = true};
  Routing routing = routing_of(logits, {}, options, 2);
  EXPECT_THAT(whole_numbers(routing.experts), ElementsAre(0, 1, 2, 3, 0, 1));
  EXPECT_THAT(whole_numbers(routing_of(logits, {}, options, 2, {5, 0, 3}).experts),
              ElementsAre(2, 3, 0, 1, 2, 3));
  EXPECT_EQ(doubles_of(routing.chosen)[2], doubles_of(routing.scores)[6]) << "token 1, expert 2";
}

// Without normalisation shares are the scores themselves; with it they add up to the scaling.
TEST(Router, SharesAreNormalisedAndScaled) {
  Tensor logits = token_of({0.5, 0.2, 0.75});
  RouterOptions options{.score = RouterScore::sigmoid, .normalizes = false};
  Routing plain = routing_of(logits, {}, options, 2);
  EXPECT_THAT(whole_numbers(plain.experts), ElementsAre(2, 0));
  EXPECT_NEAR(doubles_of(plain.shares)[0], 0.75, 1e-12);
  options.normalizes = true;
  options.scaling = 2.5;
  std::vector<double> shares = doubles_of(routing_of(logits, {}, options, 2).shares);
  EXPECT_NEAR(shares[0], 2.5 * 0.6, 1e-12);
  EXPECT_NEAR(shares[1], 2.5 * 0.4, 1e-12);
}

// Sigmoids that are all zero must not give NaN.
TEST(Router, SigmoidsOfZeroGiveNoNaN) {
  Tensor logits = full({1, 3}, DType::float32, -1000);
  RouterOptions options{.score = RouterScore::sigmoid};
  for (double share : doubles_of(routing_of(logits, {}, options, 2).shares)) EXPECT_EQ(share, 0.0);
}

// A bias changes the choice, and no share.
TEST(Router, ABiasIsForTheChoiceOnly) {
  Tensor logits = token_of({0.5, 0.2, 0.75}), bias = tensor_of<float>({3}, {0.0f, 0.5f, 0.0f});
  RouterOptions options{.score = RouterScore::sigmoid, .normalizes = false, .bias_rate = 0.1};
  Routing routing = routing_of(logits, bias, options, 2);
  EXPECT_THAT(whole_numbers(routing.experts), ElementsAre(2, 1));
  EXPECT_NEAR(doubles_of(routing.shares)[1], 0.2, 1e-12);
}

// Without a bias a group's score is its highest one, with a bias the sum of its two highest.
TEST(Router, ATokenChoosesInItsBestGroups) {
  Tensor logits = token_of({0.9, 0.1, 0.6, 0.7});
  RouterOptions options{.score = RouterScore::sigmoid, .groups = 2, .top_groups = 1};
  EXPECT_THAT(whole_numbers(routing_of(logits, {}, options, 2).experts), ElementsAre(0, 1));
  Tensor bias = zeros({4}, DType::float32);
  EXPECT_THAT(whole_numbers(routing_of(logits, bias, options, 2).experts), ElementsAre(3, 2));
  options.top_groups = 2;
  EXPECT_THAT(whole_numbers(routing_of(logits, bias, options, 2).experts), ElementsAre(0, 3));
}

// Switch's loss is experts * sum(f * P), which is 1 for a balanced router.
TEST(Router, TermsAddUpToTheLosses) {
  Tensor logits = formula({6, 4}, {.rule = Rule::unit, .seed = 3, .dtype = DType::float64});
  RouterOptions options{.aux_loss = 0.5, .z_loss = 0.25};
  Routing routing = routing_of(logits, {}, options, 2);
  RouterLoad load{{5, 3, 0, 4}, 6};
  std::vector<double> scores = doubles_of(routing.scores), values = doubles_of(logits);
  double balance = 0, squares = 0;
  for (std::size_t expert = 0; expert < 4; ++expert) {
    double mean = 0;
    for (std::size_t token = 0; token < 6; ++token) mean += scores[token * 4 + expert] / 6;
    balance += 4 * mean * double(load.loads[expert]) / 12;
  }
  for (std::size_t token = 0; token < 6; ++token) {
    double total = 0;
    for (std::size_t expert = 0; expert < 4; ++expert)
      total += std::exp(values[token * 4 + expert]);
    squares += std::log(total) * std::log(total) / 6;
  }
  double loss = scalar_value(sum(loss_terms(routing, options, load))) / 6;
  EXPECT_NEAR(loss, 0.5 * balance + 0.25 * squares, 1e-12);
  EXPECT_FALSE(loss_terms(routing, RouterOptions(), load).is_defined());
  RouterLoad even{{3, 3, 3, 3}, 6};
  EXPECT_NEAR(scalar_value(sum(loss_terms(routing, {.aux_loss = 1}, even))) / 6, 1.0, 1e-12);
}

// The gradient of the terms is that of the loss as a function of the logits.
TEST(Router, TermsHaveTheGradientsOfDifferences) {
  Tensor logits = formula({5, 4}, {.rule = Rule::unit, .seed = 3, .dtype = DType::float64});
  set_requires_grad(logits);
  for (RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
    RouterOptions options{.score = score, .aux_loss = 0.5, .z_loss = 0.25};
    auto terms = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      return {loss_terms(routing_of(in[0], {}, options, 2), options, {{4, 3, 2, 1}, 5})};
    };
    EXPECT_EQ(gradcheck(terms, {logits}, {.second_order = false}), "");
  }
}

// A loss that no output shows is in the gradients all the same, once.
TEST(Router, BackwardAddsALoss) {
  Tensor x = full({3}, DType::float32, 2.0), y = full({3}, DType::float32, 3.0);
  set_requires_grad(x);
  set_requires_grad(y);
  Tensor output = with_loss(mul(x, 2.0), mul(y, 5.0), 0.5);
  EXPECT_TRUE(same_bits(output.detach(), full({3}, DType::float32, 4.0)));
  backward(sum(output));
  EXPECT_TRUE(same_bits(grad_of(x), full({3}, DType::float32, 2.0)));
  EXPECT_TRUE(same_bits(grad_of(y), full({3}, DType::float32, 2.5)));
}

// An expert of exactly the mean load keeps its bias.
TEST(Router, BiasesFollowTheSignOfTheLoadError) {
  Tensor bias = tensor_of<float>({3}, {1.0f, 1.0f, 1.0f});
  EXPECT_TRUE(
      same_bits(balanced_bias(bias, {1, 2, 3}, 0.5), tensor_of<float>({3}, {1.5f, 1.0f, 0.5f})));
}

}  // namespace
}  // namespace simmesh::nn
