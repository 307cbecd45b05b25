#include "core/ops/elementwise/pointwise.h"

#include <gtest/gtest.h>
#include <limits>
#include <numbers>

#include "core/check/error.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/functions/closeness.h"
#include "core/ops/promotion.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor six_numbers() { return tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }
Tensor integers() { return tensor_of<std::int64_t>({3}, {-7, 0, 7}); }

TEST(Pointwise, BroadcastsAndScales) {
  EXPECT_EQ(to_string(add(six_numbers(), tensor_of<float>({3}, {10, 20, 30}), 2)),
            "float32[2, 3] {21, 42, 63, 24, 45, 66}");
  EXPECT_EQ(to_string(tensor_of<float>({2, 1}, {1, 2}) * tensor_of<float>({3}, {1, 2, 3})),
            "float32[2, 3] {1, 2, 3, 2, 4, 6}");
  EXPECT_EQ(to_string(10 - six_numbers()), "float32[2, 3] {9, 8, 7, 6, 5, 4}");
  expect_error([] { add(six_numbers(), zeros({2}, DType::float32)); }, ErrorKind::runtime_error);
}

// Operands that aren't in row-major order go through a buffer.
TEST(Pointwise, ReadsStrides) {
  Tensor turned = six_numbers().transpose(0, 1);
  EXPECT_EQ(to_string(turned + 1), "float32[3, 2] {2, 5, 3, 6, 4, 7}");
  EXPECT_EQ(to_string(turned * tensor_of<float>({2}, {1, 10})),
            "float32[3, 2] {1, 40, 2, 50, 3, 60}");
  Tensor column = six_numbers().narrow({.dim = 1, .start = 1, .length = 1});
  EXPECT_EQ(to_string(column - six_numbers()), "float32[2, 3] {1, 0, -1, 1, 0, -1}");
}

// Chunks are of 1024 elements: what crosses their borders must not repeat or vanish.
TEST(Pointwise, CrossesChunks) {
  std::int64_t rows = 7, columns = 997;
  Tensor x = empty({columns, rows}, DType::float64), row = empty({columns}, DType::float32);
  for (std::int64_t i = 0; i < rows * columns; ++i)
    x.mutable_values<double>()[std::size_t(i)] = double(i);
  for (std::int64_t i = 0; i < columns; ++i)
    row.mutable_values<float>()[std::size_t(i)] = float(i) / 2;
  Tensor y = add(x.transpose(0, 1), row);
  auto values = y.values<double>();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      ASSERT_EQ(values[std::size_t(r * columns + c)], double(c * rows + r) + double(c) / 2);
}

// Few elements in the loop's order are computed in place, others through buffers: an element's bits
// must not tell which.
TEST(Pointwise, AnElementHasTheSameBitsAmongFewAndMany) {
  std::int64_t most = 130;
  Tensor counted = empty({most}, DType::int64);
  for (std::int64_t i = 0; i < most; ++i)
    counted.mutable_values<std::int64_t>()[std::size_t(i)] = i;
  for (DType dtype : {DType::float32, DType::float64, DType::int64, DType::bfloat16}) {
    Tensor x = to(add(mul(counted, 7), -40), dtype), y = to(rsub(counted, 30), dtype);
    auto results = [&](const Tensor& a, const Tensor& b) {
      return std::vector<Tensor>{add(a, b, 3),      mul(a, b), sub(a, 2),
                                 clamp(a, -20, 50), gt(a, b),  neg(a)};
    };
    std::vector<Tensor> whole = results(x, y);
    for (std::int64_t count : {1, 31, 32, 33, 63, 64, 65, 130}) {
      Tensor::Narrow first{.dim = 0, .start = 0, .length = count};
      Tensor a = x.narrow(first).clone(), b = y.narrow(first).clone();
      Tensor two = empty({count, 2}, dtype);
      Tensor apart = two.narrow({.dim = 1, .start = 1, .length = 1}).squeeze(1);
      copy_(apart, a);
      for (const Tensor& read : {a, apart}) {
        std::vector<Tensor> few = results(read, b);
        for (std::size_t i = 0; i < whole.size(); ++i)
          EXPECT_TRUE(same_bits(few[i], whole[i].narrow(first).clone()))
              << to_string(dtype) << ", result " << i << " of " << count;
      }
    }
  }
}

TEST(Pointwise, OfNothingIsNothing) {
  EXPECT_EQ(to_string((zeros({0, 3}, DType::float32) + zeros({3}, DType::float32)).shape()),
            "[0, 3]");
}

TEST(Promotion, FollowsKindsAndDims) {
  Tensor f32 = zeros({2}, DType::float32), f64_scalar = zeros({}, DType::float64);
  Tensor i32 = zeros({2}, DType::int32), i64_scalar = zeros({}, DType::int64);
  Tensor half = zeros({2}, DType::float16), brain = zeros({2}, DType::bfloat16);
  Tensor truth = zeros({2}, DType::boolean);
  EXPECT_EQ(result_type(f32, f64_scalar), DType::float32);
  EXPECT_EQ(result_type(i32, i64_scalar), DType::int32);
  EXPECT_EQ(result_type(i32, f64_scalar), DType::float64);
  EXPECT_EQ(result_type(half, brain), DType::float32);
  EXPECT_EQ(result_type(truth, i64_scalar), DType::int64);
  EXPECT_EQ(add(i32, 2.5).dtype(), DType::float32);
  EXPECT_EQ(add(half, 2.5).dtype(), DType::float16);
  EXPECT_EQ(add(truth, 1).dtype(), DType::int64);
  EXPECT_EQ(add(truth, truth).dtype(), DType::boolean);
  EXPECT_EQ(div(i32, 2).dtype(), DType::float32);
  EXPECT_EQ(eq(i32, 2.5).dtype(), DType::boolean);
}

TEST(Pointwise, IntegersWrapAndRoundTheirQuotients) {
  Tensor bytes = tensor_of<std::uint8_t>({2}, {250, 3});
  EXPECT_EQ(to_string(bytes + 10), "uint8[2] {4, 13}");
  EXPECT_EQ(to_string(div(integers(), 2, RoundingMode::floor)), "int64[3] {-4, 0, 3}");
  EXPECT_EQ(to_string(div(integers(), 2, RoundingMode::trunc)), "int64[3] {-3, 0, 3}");
  EXPECT_EQ(to_string(remainder(integers(), 4)), "int64[3] {1, 0, 3}");
  EXPECT_EQ(to_string(fmod(integers(), 4)), "int64[3] {-3, 0, 3}");
  EXPECT_EQ(to_string(pow(integers(), 3)), "int64[3] {-343, 0, 343}");
  expect_error([] { div(integers(), 0, RoundingMode::floor); }, ErrorKind::runtime_error);
  expect_error([] { pow(integers(), -1); }, ErrorKind::runtime_error);
  expect_error([] { add(integers(), 1, 0.5); }, ErrorKind::runtime_error);
  expect_error([] { neg(eq(integers(), 0)); }, ErrorKind::runtime_error);
}

// A number isn't rounded to the 16-bit dtype to which it is added, but to the one with which it is
// compared.
TEST(Pointwise, RoundsSixteenBitsOnce) {
  Tensor x = to(tensor_of<float>({1}, {256}), DType::bfloat16);
  EXPECT_EQ(to_string(x + 1.0), "bfloat16[1] {256}");
  EXPECT_EQ(to_string(x + 1.1), "bfloat16[1] {258}");
  Tensor tenth = to(tensor_of<float>({1}, {0.1f}), DType::float16);
  EXPECT_EQ(to_string(eq(tenth, 0.1)), "bool[1] {true}");
}

// (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, whose last bit a float of its own would not hold.
TEST(Pointwise, RoundsSumAndProductTogether) {
  float factor = 1 + 0x1p-12f, expected = 0x1p-11f + 0x1p-24f;
  auto number = [](float value) { return tensor_of<float>({}, {value}); };
  Tensor sum = addcmul(number(-1), number(factor), number(factor));
  EXPECT_EQ(sum.values<float>()[0], expected);
  Tensor between = lerp(number(-1), number(4 * factor - 1), number(factor / 4));
  EXPECT_EQ(between.values<float>()[0], expected);
  Tensor near_end = lerp(number(-1 - 4 * factor), number(-1), number(1 + factor / 4));
  EXPECT_EQ(near_end.values<float>()[0], expected);
}

TEST(Pointwise, FloatingRemaindersKeepTheirSigns) {
  Tensor x = tensor_of<double>({4}, {-3.5, 3.5, -3.5, 3.5});
  Tensor y = tensor_of<double>({4}, {2, 2, -2, -2});
  EXPECT_EQ(to_string(remainder(x, y)), "float64[4] {0.5, 1.5, -1.5, -0.5}");
  EXPECT_EQ(to_string(fmod(x, y)), "float64[4] {-1.5, 1.5, -1.5, 1.5}");
  EXPECT_EQ(to_string(div(x, y, RoundingMode::floor)), "float64[4] {-2, 1, 1, -2}");
}

TEST(Pointwise, PassesNanOn) {
  Tensor x = tensor_of<double>({4}, {nan, 1, infinity, -infinity});
  EXPECT_EQ(to_string(isnan(maximum(x, tensor_of<double>({}, {2})))),
            "bool[4] {true, false, false, false}");
  EXPECT_EQ(to_string(fmax(x, tensor_of<double>({}, {2}))), "float64[4] {2, 2, inf, 2}");
  EXPECT_EQ(to_string(isnan(relu(x))), "bool[4] {true, false, false, false}");
  EXPECT_EQ(to_string(isnan(clamp(x, 0, 1))), "bool[4] {true, false, false, false}");
  EXPECT_EQ(to_string(isfinite(x)), "bool[4] {false, true, false, false}");
  EXPECT_EQ(to_string(nan_to_num(to(x, DType::float16), {.nan = 7})),
            "float16[4] {7, 1, 65504, -65504}");
}

TEST(Pointwise, ChoosesByMaskAndBounds) {
  Tensor mask = gt(six_numbers(), 3);
  EXPECT_EQ(to_string(where(mask, six_numbers(), 0)), "float32[2, 3] {0, 0, 0, 4, 5, 6}");
  EXPECT_EQ(to_string(masked_fill(six_numbers(), mask, 9)), "float32[2, 3] {1, 2, 3, 9, 9, 9}");
  EXPECT_EQ(to_string(clamp(integers(), -1, {})), "int64[3] {-1, 0, 7}");
  EXPECT_EQ(to_string(clamp_max(integers(), tensor_of<std::int64_t>({3}, {-8, 1, 1}))),
            "int64[3] {-8, 0, 1}");
  expect_error([] { clamp(integers(), std::nullopt); }, ErrorKind::runtime_error);
  expect_error([] { where(six_numbers(), 1, 2); }, ErrorKind::runtime_error);
  expect_error([] { masked_fill(six_numbers(), integers(), 2); }, ErrorKind::runtime_error);
}

TEST(Pointwise, CombinesBitsAndTruths) {
  Tensor bits = tensor_of<std::int32_t>({2}, {6, 3});
  EXPECT_EQ(to_string(bitwise_and(bits, 5)), "int32[2] {4, 1}");
  EXPECT_EQ(to_string(bitwise_xor(bits, 5)), "int32[2] {3, 6}");
  EXPECT_EQ(to_string(bitwise_not(bits)), "int32[2] {-7, -4}");
  EXPECT_EQ(to_string(bitwise_not(eq(bits, 6))), "bool[2] {false, true}");
  EXPECT_EQ(to_string(logical_xor(bits, tensor_of<float>({2}, {0, 0.5f}))),
            "bool[2] {true, false}");
  expect_error([] { bitwise_and(six_numbers(), 1); }, ErrorKind::not_implemented_error);
}

TEST(Pointwise, ComparesWithinATolerance) {
  Tensor a = tensor_of<double>({3}, {1, nan, infinity});
  Tensor b = tensor_of<double>({3}, {1 + 1e-6, nan, infinity});
  EXPECT_EQ(to_string(isclose(a, b)), "bool[3] {true, false, true}");
  EXPECT_TRUE(allclose(a, b, {.equal_nan = true}));
  EXPECT_FALSE(equal(a, a));
  EXPECT_TRUE(equal(integers(), integers()));
  EXPECT_FALSE(equal(integers(), zeros({2}, DType::int64)));
}

// The closed forms at points where they are known.
TEST(Pointwise, ActivatesAtKnownPoints) {
  Tensor x = tensor_of<double>({3}, {-2, 0, 2});
  EXPECT_EQ(to_string(hardtanh(x)), "float64[3] {-1, 0, 1}");
  EXPECT_EQ(to_string(leaky_relu(x, 0.5)), "float64[3] {-1, 0, 2}");
  EXPECT_EQ(to_string(hardsigmoid(tensor_of<double>({3}, {-3, 0, 3}))), "float64[3] {0, 0.5, 1}");
  EXPECT_EQ(to_string(softplus(tensor_of<double>({1}, {40}))), "float64[1] {40}");
  EXPECT_TRUE(allclose(silu(x), x * sigmoid(x)));
  EXPECT_TRUE(allclose(gelu(x), x * (erf(x / std::numbers::sqrt2) + 1) * 0.5));
  EXPECT_TRUE(allclose(gelu(x, Gelu::tanh), gelu(x), {.relative = 1e-2}));
  EXPECT_EQ(to_string(round(tensor_of<double>({4}, {0.5, 1.5, -0.5, 2.5}))),
            "float64[4] {0, 2, -0, 2}");
  expect_error([] { gelu(integers()); }, ErrorKind::not_implemented_error);
}

}  // namespace
}  // namespace simmesh
