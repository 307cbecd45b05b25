#include <gtest/gtest.h>

#include "core/arithmetic/unrounded.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

// Terms from 1e-30 to 1e30, so that a rounding anywhere shows.
Tensor spread_values(const Shape& shape, std::uint64_t seed, DType dtype = DType::float32) {
  Tensor values = formula(shape, {.rule = Rule::unit, .seed = seed});
  Tensor sizes = formula(shape, {.rule = Rule::wide, .seed = seed + 100});
  return to(values * exp(sizes * 8), dtype);
}

class ExactOps : public ::testing::Test {
 private:
  Arithmetic exact_ = Arithmetic::exact();
  ArithmeticScope scope_{exact_};
};

// A contraction in parts, added in any order, is the whole one.
TEST_F(ExactOps, ProductsInPartsAreTheWhole) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float64}) {
    Tensor a = spread_values({5, 12}, 1, dtype), b = spread_values({12, 7}, 2, dtype);
    Tensor bias = spread_values({7}, 3, dtype);
    Tensor whole = mm(a, b), with_bias = addmm(bias, a, b);
    for (std::int64_t cut : {0, 1, 5, 12}) {
      KeepUnrounded scope;
      Tensor first = mm(narrow(a, {1, 0, cut}), narrow(b, {0, 0, cut}));
      Tensor second = mm(narrow(a, {1, cut, 12 - cut}), narrow(b, {0, cut, 12 - cut}));
      EXPECT_TRUE(same_bits(add(first, second), whole)) << to_string(dtype) << cut;
      EXPECT_TRUE(same_bits(add(second, first), whole)) << to_string(dtype) << cut;
      add_(second, first);
      EXPECT_TRUE(same_bits(second, whole)) << to_string(dtype) << cut;
    }
  }
}

TEST_F(ExactOps, SumsInPartsAreTheWhole) {
  Tensor x = spread_values({3, 9, 4}, 4);
  Tensor whole = sum(x, {1}), mean_of_all = mean(x);
  KeepUnrounded scope;
  Tensor parts = add(sum(narrow(x, {1, 4, 5}), {1}), sum(narrow(x, {1, 0, 4}), {1}));
  EXPECT_TRUE(same_bits(parts, whole));
  // Sums of sums, and their division.
  Tensor all = div(sum(sum(x, {0}), {0, 1}), 108);
  EXPECT_TRUE(same_bits(all, mean_of_all));
}

TEST_F(ExactOps, ScattersInPartsAreTheWhole) {
  Tensor source = spread_values({8, 3}, 5), x = spread_values({4, 3}, 6);
  Tensor index = formula({8}, {.rule = Rule::index, .seed = 1, .below = 4, .dtype = DType::int64});
  Tensor whole = index_add(x, 0, index, source);
  KeepUnrounded scope;
  Tensor first = index_add(x, 0, narrow(index, {0, 3, 5}), narrow(source, {0, 3, 5}));
  Tensor second = index_add(first, 0, narrow(index, {0, 0, 3}), narrow(source, {0, 0, 3}));
  EXPECT_TRUE(same_bits(second, whole));
}

// Outside of a scope an op sees elements, and other ops do in it.
TEST_F(ExactOps, OnlySumsInAScopeSeeWhatIsBehind) {
  Tensor large = full({1}, DType::float32, 1e20), small = full({1}, DType::float32, 1e-3);
  Tensor total;
  {
    KeepUnrounded scope;
    total = add(large, small);
    EXPECT_EQ(add(total, neg(large)).values<float>()[0], 1e-3f);
    EXPECT_EQ(add(mul(total, 1), neg(large)).values<float>()[0], 0);
  }
  EXPECT_EQ(total.values<float>()[0], 1e20f);
  EXPECT_EQ(add(total, neg(large)).values<float>()[0], 0);
  {
    KeepUnrounded scope;
    KeepUnrounded inner(false);
    EXPECT_EQ(add(total, neg(large)).values<float>()[0], 0);
  }
  Arithmetic canonical = Arithmetic::canonical();
  ArithmeticScope other(canonical);
  KeepUnrounded scope;
  EXPECT_FALSE(is_unrounded(add(large, small)));
}

// float32, then bfloat16: a conversion rounds the sum, not the float.
TEST_F(ExactOps, ConversionsRoundTheSum) {
  Tensor one = full({1}, DType::float32, 1 + 0x1p-8), tiny = full({1}, DType::float32, 0x1p-40);
  KeepUnrounded scope;
  Tensor total = add(one, tiny);
  EXPECT_EQ(total.values<float>()[0], 1 + 0x1p-8f);
  EXPECT_EQ(float(to(total, DType::bfloat16).values<BFloat16>()[0]), 1 + 0x1p-7f);
}

// A gradient that reaches its leaf through views and conversions is one sum over micro-batches.
TEST_F(ExactOps, GradientsGoThroughViewsUnrounded) {
  Tensor batch = spread_values({6, 4}, 7);
  auto gradient = [&](const std::vector<Tensor::Narrow>& parts) {
    Tensor weight = spread_values({3, 5}, 8);
    set_requires_grad(weight);
    for (const Tensor::Narrow& part : parts) {
      Tensor used = t(slice(to(weight, DType::bfloat16), {.dim = 1, .end = 4}));
      Tensor rows = to(narrow(batch, part), DType::bfloat16);
      backward(sum(mm(rows, used)));
    }
    return grad_of(weight);
  };
  Tensor whole = gradient({{0, 0, 6}});
  EXPECT_TRUE(same_bits(gradient({{0, 0, 2}, {0, 2, 1}, {0, 3, 3}}), whole));
  EXPECT_TRUE(same_bits(gradient({{0, 3, 3}, {0, 0, 3}}), whole));
}

}  // namespace
}  // namespace simmesh
