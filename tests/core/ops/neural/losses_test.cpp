#include "core/ops/neural/losses.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/closeness.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/attention.h"
#include "core/ops/neural/normalization.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/random/random.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

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

// The last dim has a kernel of its own, which takes some rows at a time.
TEST(Softmax, GivesTheLastDimTheBitsOfAnyOther) {
  Arithmetic canonical = Arithmetic::canonical(), exact = Arithmetic::exact();
  for (const Arithmetic* arithmetic : {&canonical, &exact}) {
    ArithmeticScope scope(*arithmetic);
    for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16})
      for (std::int64_t count : {1, 7, 33, 5000}) {
        Tensor x = formula({19, count}, {.rule = Rule::wide, .seed = 3, .dtype = dtype});
        Tensor turned = x.transpose(0, 1).contiguous();
        EXPECT_TRUE(equal(softmax(x, -1), softmax(turned, 0).transpose(0, 1)));
        EXPECT_TRUE(equal(log_softmax(x, 1), log_softmax(turned, 0).transpose(0, 1)));
      }
  }
  Tensor rows = tensor_of<double>({4, 2}, {0, 0, NAN, 0, -INFINITY, 0, -INFINITY, -INFINITY});
  Tensor found = softmax(rows, 1);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(std::isnan(found.values<double>()[i]), i % 4 >= 2) << i;
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

// PyTorch's rule.
TEST(Normalization, ParametersHaveTheDtypeOfTheInputOrFloat32BesideSixteenBits) {
  constexpr DType dtypes[] = {DType::float64, DType::float32, DType::bfloat16, DType::float16};
  for (DType dtype : dtypes)
    for (DType parameter : dtypes) {
      Tensor x = to(data({2, 4}, 5), dtype), weight = to(data({4}, 6), parameter);
      bool is_narrow = bytes_per_element(dtype) == 2;
      auto check = [&](const std::function<Tensor()>& normalized) {
        if (parameter == dtype || (is_narrow && parameter == DType::float32))
          EXPECT_EQ(normalized().dtype(), dtype);
        else
          expect_error([&] { normalized(); }, ErrorKind::runtime_error, "mixed dtype");
      };
      check([&] { return layer_norm(x, Dims{4}, weight); });
      check([&] { return layer_norm(x, Dims{4}, weight, weight); });
      check([&] { return group_norm(x, 2, weight, weight); });
      EXPECT_EQ(rms_norm(x, Dims{4}, weight).dtype(), dtype);
    }
}

// A shard draws the numbers that the whole tensor would have there.
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
  EXPECT_TRUE(allclose(math_attention(q, k, v), scaled_dot_product_attention(q, k, v)));
  EXPECT_TRUE(allclose(math_attention(q, k, v, {.is_causal = true, .scale = -0.25}),
                       scaled_dot_product_attention(q, k, v, {.is_causal = true, .scale = -0.25})));
  EXPECT_TRUE(same_bits(math_attention(q * 0, k, v), scaled_dot_product_attention(q * 0, k, v)));
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
