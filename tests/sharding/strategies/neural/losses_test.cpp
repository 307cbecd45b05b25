#include "core/ops/neural/losses.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

constexpr LossReduction reductions[] = {LossReduction::none, LossReduction::mean,
                                        LossReduction::sum};

// Pieces of a batch weigh what their classes weigh, and may be of unlike sizes.
TEST(LossStrategies, ClassLossesEqualOneDevice) {
  Formula classes = {.rule = Rule::index, .below = 3, .dtype = DType::int64};
  for (LossReduction reduction : reductions) {
    auto weighted = [reduction](gsl::span<const Tensor> x) {
      return Outputs{
          nll_loss(x[0], x[1], {.weight = x[2], .ignore_index = 1, .reduction = reduction})};
    };
    Input weight = {{3}, shards_and(1), {.rule = Rule::small}, false};
    expect_whole_bits(
        {"nll_loss",
         {{{4, 3}, shards_and(2, {partial_sum})}, {{4}, shards_and(1), classes}, weight},
         weighted});
    expect_whole_bits({"nll_loss of images",
                       {{{2, 3, 2}, shards_and(3)}, {{2, 2}, shards_and(2), classes}, weight},
                       weighted},
                      {.meshes = {{2}, {3}}});
    expect_whole_bits({"cross_entropy",
                       {{{5, 3}, shards_and(2, {partial_max})}, {{5}, shards_and(1), classes}},
                       [reduction](gsl::span<const Tensor> x) {
                         return Outputs{cross_entropy(x[0], x[1], {.reduction = reduction})};
                       }});
  }
}

// A mean of means is right for pieces of equal sizes only.
TEST(LossStrategies, ElementLossesEqualOneDevice) {
  for (LossReduction reduction : reductions) {
    expect_whole_bits({"mse_loss",
                       {{{4, 4}, shards_and(2, {partial_min})}, {{4, 4}, shards_and(2)}},
                       [reduction](gsl::span<const Tensor> x) {
                         return Outputs{mse_loss(x[0], x[1], reduction),
                                        l1_loss(x[0], x[1], reduction),
                                        huber_loss(x[0], x[1], reduction, 0.75),
                                        smooth_l1_loss(x[0], x[1], reduction, 0.5)};
                       }});
    expect_whole_bits({"mse_loss of a broadcast target",
                       {{{4, 2}, shards_and(2)}, {{1, 2}, shards_and(2)}},
                       [reduction](gsl::span<const Tensor> x) {
                         return Outputs{mse_loss(x[0], x[1], reduction)};
                       }});
  }
}

TEST(LossStrategies, LogitLossesEqualOneDevice) {
  expect_whole_bits(
      {"binary_cross_entropy_with_logits",
       {{{4, 3}, shards_and(2)}, {{4, 3}, shards_and(2)}, {{3}, shards_and(1)}},
       [](gsl::span<const Tensor> x) {
         return Outputs{binary_cross_entropy_with_logits(
             x[0], x[1], {.pos_weight = x[2].detach(), .reduction = LossReduction::none})};
       }});
}

}  // namespace
}  // namespace simmesh
