#include <cmath>
#include <gtest/gtest.h>

#include <simmesh/core/ops/attention.h>
#include <simmesh/core/ops/comparison.h>
#include <simmesh/core/ops/conversion.h>
#include <simmesh/core/ops/losses.h>
#include <simmesh/core/ops/normalization.h>
#include <simmesh/core/ops/pointwise.h>
#include <simmesh/core/ops/products.h>
#include <simmesh/core/ops/random.h>
#include <simmesh/core/ops/reductions.h>
#include <simmesh/core/ops/softmax.h>
#include <simmesh/core/tensor/formula.h>
#include <simmesh/tests/mesh/expect_error.h>

namespace simmesh {
namespace {

using testing::expect_error;

Tensor data(std::initializer_list<std::int64_t> shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::unit, .seed = seed, .dtype = DType::float64});
}

TEST(Softmax, IsAQuotientOfExponentials) {
  Tensor x = data({3, 4, 2}, 1);
  EXPECT_TRUE(allclose(softmax(x, 1), exp(x) / sum(exp(x), 1, true)));
  EXPECT_TRUE(allclose(log_softmax(x, -1), log(softmax(x, -1))));
  EXPECT_EQ(to_string(softmax(tensor_of<float>({2}, {1e30f, 1e30f}), 0)), "float32[2] {0.5, 0.5}");
  EXPECT_EQ(softmax(to(x, DType::bfloat16), 0).dtype(), DType::bfloat16);
  EXPECT_EQ(to_string(softmax(zeros({0, 2}, DType::float32), 1).shape()), "[0, 2]");
  expect_error([&] { softmax(x, 3); }, ErrorKind::index_error, "out of range");
  expect_error([] { softmax(zeros({2}, DType::int64), 0); }, ErrorKind::not_implemented_error, "");
}

TEST(Losses, PickTheTargets) {
  Tensor x = tensor_of<double>({3, 2}, {-1, -2, -3, -4, -5, -6});
  Tensor target = tensor_of<std::int64_t>({3}, {1, 0, -100});
  Tensor weight = tensor_of<double>({2}, {1, 3});
  EXPECT_EQ(to_string(nll_loss(x, target)), "float64[] {2.5}");
  EXPECT_EQ(to_string(nll_loss(x, target, {.weight = weight})), "float64[] {2.25}");
  EXPECT_EQ(to_string(nll_loss(x, target, {.weight = weight, .reduction = LossReduction::sum})),
            "float64[] {9}");
  EXPECT_EQ(to_string(nll_loss(x, target, {.reduction = LossReduction::none})),
            "float64[3] {2, 3, -0}");
  Tensor wrong = tensor_of<std::int64_t>({3}, {1, 2, 0});
  expect_error([&] { nll_loss(x, wrong); }, ErrorKind::index_error, "Target 2 is out of bounds");
  expect_error([&] { nll_loss(x, to(target, DType::int32)); }, ErrorKind::runtime_error, "Long");
  expect_error([&] { nll_loss(x, wrong.narrow({.dim = 0, .start = 0, .length = 2})); },
               ErrorKind::value_error, "target size");
}

// A target of one class is a probability of one.
TEST(Losses, AgreeOnIndicesAndProbabilities) {
  Tensor x = data({2, 3, 2}, 3);
  Tensor target = tensor_of<std::int64_t>({2, 2}, {0, 2, 1, 2});
  Tensor wanted = zeros({2, 3, 2}, DType::float64);
  auto values = wanted.mutable_values<double>();
  values[0] = values[5] = values[8] = values[11] = 1;
  for (double smoothing : {0.0, 0.2}) {
    ClassLoss options{.label_smoothing = smoothing};
    EXPECT_TRUE(allclose(cross_entropy(x, target, options), cross_entropy(x, wanted, options)));
  }
}

TEST(Losses, MeasureDistances) {
  Tensor x = tensor_of<double>({2}, {1, 4}), target = tensor_of<double>({2}, {1.5, 1});
  EXPECT_EQ(to_string(mse_loss(x, target)), "float64[] {4.625}");
  EXPECT_EQ(to_string(l1_loss(x, target, LossReduction::sum)), "float64[] {3.5}");
  EXPECT_EQ(to_string(huber_loss(x, target, LossReduction::none)), "float64[2] {0.125, 2.5}");
  EXPECT_EQ(to_string(smooth_l1_loss(x, target, LossReduction::none, 2)), "float64[2] {0.0625, 2}");
  Tensor p = data({2}, 4);
  Tensor likely = neg(target * log(sigmoid(p)) + (1 - target) * log(1 - sigmoid(p)));
  EXPECT_TRUE(allclose(binary_cross_entropy_with_logits(p, target), mean(likely)));
  expect_error([&] { binary_cross_entropy_with_logits(p, data({3}, 1)); }, ErrorKind::value_error,
               "same as input size");
}

TEST(Normalization, CentersAndScales) {
  Tensor x = data({2, 3, 4}, 5), weight = data({4}, 6), bias = data({4}, 7);
  VarianceAndMean moments = var_mean(x, 2, {.correction = 0, .keepdim = true});
  Tensor plain = (x - moments.mean) * rsqrt(moments.variance + 1e-5);
  EXPECT_TRUE(allclose(layer_norm(x, Dims{4}), plain));
  EXPECT_TRUE(allclose(layer_norm(x, Dims{4}, weight, bias), plain * weight + bias));
  EXPECT_TRUE(allclose(rms_norm(x, Dims{4}, weight, 1e-5),
                       x * rsqrt(mean(x * x, 2, true) + 1e-5) * weight));
  EXPECT_EQ(layer_norm(to(x, DType::float16), Dims{4}).dtype(), DType::float16);
  expect_error([&] { layer_norm(x, Dims{3}); }, ErrorKind::runtime_error, "normalized_shape");
  expect_error([&] { group_norm(x, 2); }, ErrorKind::runtime_error, "divisible");
}

// One group a sample is a layer norm over all but the first dim.
TEST(Normalization, OfOneGroupIsALayerNorm) {
  Tensor x = data({2, 4, 3}, 8);
  EXPECT_TRUE(allclose(group_norm(x, 1), layer_norm(x, Dims{4, 3})));
  Tensor weight = data({4}, 9);
  EXPECT_TRUE(allclose(group_norm(x, 2, weight), group_norm(x, 2) * weight.view(Dims{4, 1})));
}

// A shard draws what the whole would have there.
TEST(Random, DependsOnTheGlobalElement) {
  Generator generator{.seed = 7};
  Tensor whole = randn({4, 6}, generator);
  RandomOptions part{.shard = {.global_shape = {4, 6}, .offset = {2, 3}}};
  Tensor shard = randn({2, 3}, generator, part);
  Tensor expected = whole.narrow({.dim = 0, .start = 2, .length = 2})
                        .narrow({.dim = 1, .start = 3, .length = 3})
                        .contiguous();
  EXPECT_TRUE(same_bits(shard, expected));
  Generator next = generator;
  EXPECT_FALSE(same_bits(rand({4}, next.next()), rand({4}, next.next())));
  expect_error([&] { rand({2}, generator, {.dtype = DType::int64}); },
               ErrorKind::not_implemented_error, "");
}

TEST(Random, DropsAndScales) {
  Tensor x = full({1000}, DType::float32, 1);
  Tensor y = dropout(x, {.seed = 1}, {.p = 0.75});
  EXPECT_TRUE(all(logical_or(eq(y, 0), eq(y, 4))).values<bool>()[0]);
  // 1000 draws keep 250 on average; the deviation is below 14, seven of which leave no doubt.
  auto kept = double(count_nonzero(y).values<std::int64_t>()[0]);
  EXPECT_NEAR(kept, 250, 98);
  EXPECT_TRUE(same_bits(dropout(x, {.seed = 1}, {.training = false}), x));
  EXPECT_EQ(count_nonzero(dropout(x, {.seed = 1}, {.p = 1})).values<std::int64_t>()[0], 0);
  expect_error([&] { dropout(x, {}, {.p = 1.5}); }, ErrorKind::value_error, "between 0 and 1");
  EXPECT_TRUE(same_bits(bernoulli(x, {.seed = 2}), x));
  expect_error([&] { bernoulli(x * 2, {}); }, ErrorKind::runtime_error, "p_in");
}

TEST(Attention, WeighsValues) {
  Tensor q = data({2, 3, 4}, 1), k = data({2, 5, 4}, 2), v = data({2, 5, 2}, 3);
  Tensor scores = matmul(q, k.transpose(1, 2)) * 0.5;
  EXPECT_TRUE(allclose(scaled_dot_product_attention(q, k, v), matmul(softmax(scores, -1), v)));
  Tensor none = zeros({3, 5}, DType::boolean);
  EXPECT_TRUE(equal(scaled_dot_product_attention(q, k, v, {.mask = none}),
                    zeros({2, 3, 2}, DType::float64)));
  // The first row sees the first value alone.
  Tensor causal = scaled_dot_product_attention(q, k, v, {.is_causal = true});
  EXPECT_TRUE(allclose(causal.narrow({.dim = 1, .start = 0, .length = 1}),
                       v.narrow({.dim = 1, .start = 0, .length = 1})));
  expect_error([&] { scaled_dot_product_attention(q, k, v, {.mask = none, .is_causal = true}); },
               ErrorKind::runtime_error, "is_causal");
}

}  // namespace
}  // namespace simmesh
