#include "core/ops/neural/losses.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "core/ops/neural/attention.h"
#include "core/ops/neural/normalization.h"
#include "core/ops/random/random.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

using Inputs = std::vector<Tensor>;

TEST(LossGradients, OfClassIndices) {
  Inputs flat = {leaf({3, 4}, 1)}, deep = {leaf({2, 4, 3}, 1)};
  Tensor target = tensor_of<std::int64_t>({3}, {2, -100, 0});
  Tensor deep_target = tensor_of<std::int64_t>({2, 3}, {0, 1, 3, 3, -100, 2});
  Tensor weight = tensor_of<double>({4}, {1, 2, 0.5, 3});
  check_gradients({
      {"nll", [=](const Inputs& x) { return nll_loss(x[0], target); }, flat},
      {"nll weighted", [=](const Inputs& x) { return nll_loss(x[0], target, {.weight = weight}); },
       flat},
      {"cross entropy", [=](const Inputs& x) { return cross_entropy(x[0], target); }, flat},
      {"cross entropy, each",
       [=](const Inputs& x) {
         return cross_entropy(x[0], deep_target, {.reduction = LossReduction::none});
       },
       deep},
      {"cross entropy, smoothed",
       [=](const Inputs& x) {
         return cross_entropy(x[0], deep_target, {.weight = weight, .label_smoothing = 0.1});
       },
       deep},
  });
}

TEST(LossGradients, OfValues) {
  Inputs two = {leaf({2, 3}, 1), leaf({2, 3}, 2)};
  Tensor weight = tensor_of<double>({3}, {1, 2, 0.5});
  check_gradients({
      {"mse", [](const Inputs& x) { return mse_loss(x[0], x[1]); }, two},
      {"l1", [](const Inputs& x) { return l1_loss(x[0], x[1], LossReduction::sum); }, two},
      {"huber", [](const Inputs& x) { return huber_loss(x[0], x[1], LossReduction::mean, 0.5); },
       two},
      {"smooth l1",
       [](const Inputs& x) { return smooth_l1_loss(x[0], x[1], LossReduction::none, 0.5); }, two},
      {"logits",
       [=](const Inputs& x) {
         return binary_cross_entropy_with_logits(x[0], x[1],
                                                 {.weight = weight, .pos_weight = weight});
       },
       two},
      {"target probabilities", [](const Inputs& x) { return cross_entropy(x[0], x[1]); }, two},
  });
}

TEST(NormalizationGradients, OfInputWeightAndBias) {
  Inputs last = {leaf({2, 3, 4}, 1), leaf({4}, 2, 1.0), leaf({4}, 3)};
  Inputs two = {leaf({2, 3, 4}, 1), leaf({3, 4}, 2, 1.0), leaf({3, 4}, 3)};
  Inputs channels = {leaf({2, 4, 3}, 1), leaf({4}, 2, 1.0), leaf({4}, 3)};
  check_gradients({
      {"layer_norm", [](const Inputs& x) { return layer_norm(x[0], Dims{4}, x[1], x[2]); }, last},
      {"layer_norm of two dims",
       [](const Inputs& x) {
         return layer_norm(x[0], Dims{3, 4}, x[1], x[2]);
       },
       two},
      {"layer_norm alone", [](const Inputs& x) { return layer_norm(x[0], Dims{4}); }, {last[0]}},
      {"rms_norm",
       [](const Inputs& x) { return rms_norm(x[0], Dims{4}, x[1]); },
       {last[0], last[1]}},
      {"group_norm", [](const Inputs& x) { return group_norm(x[0], 2, x[1], x[2]); }, channels},
  });
}

TEST(AttentionGradients, OfQueryKeyAndValue) {
  Inputs qkv = {leaf({2, 3, 4}, 1), leaf({2, 3, 4}, 2), leaf({2, 3, 2}, 3)};
  Tensor mask = tensor_of<bool>({3, 3}, {true, false, true, false, false, false, true, true, true});
  auto attend = [](const Attention& options) {
    return [options](const Inputs& x) {
      return scaled_dot_product_attention(x[0], x[1], x[2], options);
    };
  };
  check_gradients({
      {"plain", attend({}), qkv},
      {"causal", attend({.is_causal = true}), qkv},
      {"masked, one row hidden", attend({.mask = mask, .scale = 0.5}), qkv},
      {"dropout", attend({.dropout = 0.5, .generator = {.seed = 3}}), qkv},
      {"dropout alone",
       [](const Inputs& x) { return dropout(x[0] * x[0], {.seed = 3}); },
       {qkv[0]}},
  });
}

}  // namespace
}  // namespace simmesh
