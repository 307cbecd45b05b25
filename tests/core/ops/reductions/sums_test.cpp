#include "core/ops/reductions/sums.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/extremes.h"
#include "core/ops/reductions/scans.h"
#include "core/ops/reductions/statistics.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Tensor block() { return tensor_of<float>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}); }

TEST(Reductions, AddAlongAnyDims) {
  EXPECT_EQ(to_string(sum(block())), "float32[] {78}");
  EXPECT_EQ(to_string(sum(block(), 1)), "float32[2, 2] {9, 12, 27, 30}");
  EXPECT_EQ(to_string(sum(block(), {0, 2})), "float32[3] {18, 26, 34}");
  EXPECT_EQ(to_string(sum(block(), {0, -1}, true)), "float32[1, 3, 1] {18, 26, 34}");
  EXPECT_EQ(to_string(sum(block().transpose(0, 2), 0)), "float32[3, 2] {3, 15, 7, 19, 11, 23}");
  EXPECT_EQ(to_string(mean(block(), {0, 1})), "float32[2] {6, 7}");
}

TEST(Reductions, ConvertToTheirDtype) {
  Tensor truth = gt(block(), 3);
  EXPECT_EQ(to_string(sum(truth)), "int64[] {9}");
  EXPECT_EQ(to_string(sum(truth, {}, false, DType::float32)), "float32[] {9}");
  EXPECT_EQ(to_string(mean(truth, {}, false, DType::float64)), "float64[] {0.75}");
  EXPECT_EQ(to_string(prod(tensor_of<std::int32_t>({2}, {3, 5}))), "int64[] {15}");
  EXPECT_EQ(to_string(count_nonzero(tensor_of<double>({3}, {0, not_a_number, -1}))), "int64[] {2}");
  expect_error([&] { mean(truth); }, ErrorKind::runtime_error);
}

TEST(Reductions, RefuseWrongDims) {
  expect_error([] { sum(block(), 3); }, ErrorKind::index_error);
  expect_error([] { sum(block(), {1, -2}); }, ErrorKind::runtime_error);
  expect_error([] { amax(zeros({0, 2}, DType::float32), 0); }, ErrorKind::index_error);
}

TEST(Reductions, OfNothingAreNeutral) {
  Tensor nothing = zeros({0, 2}, DType::float64);
  EXPECT_EQ(to_string(sum(nothing, 0)), "float64[2] {0, 0}");
  EXPECT_EQ(to_string(prod(nothing, 0)), "float64[2] {1, 1}");
  EXPECT_EQ(to_string(all(nothing, 0)), "bool[2] {true, true}");
  EXPECT_EQ(to_string(any(nothing, 0)), "bool[2] {false, false}");
  EXPECT_EQ(to_string(logsumexp(nothing, 0)), "float64[2] {-inf, -inf}");
  EXPECT_EQ(to_string(amax(nothing, 1).shape()), "[0]");
}

TEST(Reductions, FindTheFirstExtreme) {
  Tensor x = tensor_of<double>({2, 4}, {1, 3, 3, 2, 5, not_a_number, 9, not_a_number});
  EXPECT_EQ(to_string(max(x, 1).indices), "int64[2] {1, 1}");
  EXPECT_EQ(to_string(min(x, 0).values.narrow({.dim = 0, .start = 0, .length = 1})),
            "float64[1] {1}");
  EXPECT_EQ(to_string(argmin(x, 1, true)), "int64[2, 1] {0, 1}");
  EXPECT_EQ(to_string(argmax(x)), "int64[] {5}");
  EXPECT_EQ(to_string(isnan(amax(x, 1))), "bool[2] {false, true}");
  EXPECT_EQ(to_string(max(tensor_of<std::int64_t>({3}, {-4, INT64_MAX, 2}))),
            "int64[] {9223372036854775807}");
}

TEST(Reductions, ScanInOrder) {
  EXPECT_EQ(to_string(cumsum(block(), 1)),
            "float32[2, 3, 2] {1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30}");
  EXPECT_EQ(to_string(cumprod(tensor_of<std::int32_t>({4}, {1, 2, 3, 4}), 0)),
            "int64[4] {1, 2, 6, 24}");
  expect_error([] { cumsum(block(), 3); }, ErrorKind::index_error);
}

TEST(Reductions, MeasureSpreadAndLength) {
  Tensor x = tensor_of<double>({2, 4}, {1, 2, 3, 6, 3, 4, 0, 0});
  EXPECT_EQ(to_string(var(x, 1, {.correction = 0})), "float64[2] {3.5, 3.1875}");
  EXPECT_EQ(to_string(var_mean(x, 1, {.correction = 0}).mean), "float64[2] {3, 1.75}");
  EXPECT_EQ(to_string(vector_norm(x.narrow({.dim = 0, .start = 1, .length = 1}))), "float64[] {5}");
  EXPECT_EQ(to_string(vector_norm(x, 0, 1)), "float64[2] {4, 2}");
  EXPECT_EQ(to_string(vector_norm(x, 1, 1)), "float64[2] {12, 7}");
  EXPECT_EQ(to_string(vector_norm(x, unbounded, 1)), "float64[2] {6, 4}");
  EXPECT_EQ(to_string(vector_norm(x, -unbounded, 1)), "float64[2] {1, 0}");
  EXPECT_EQ(to_string(logsumexp(tensor_of<double>({2}, {1000, -unbounded}), 0)),
            "float64[] {1000}");
  expect_error([] { vector_norm(zeros({2}, DType::int64)); }, ErrorKind::runtime_error);
}

// Exact sums don't depend on the order of their terms; chains do for such data.
TEST(Reductions, TakeTheArithmeticInForce) {
  Tensor x = formula({64, 33}, {.rule = Rule::unit, .seed = 7, .dtype = DType::float32});
  Tensor turned = x.transpose(0, 1).contiguous();
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  EXPECT_TRUE(same_bits(sum(x), sum(turned)));
  EXPECT_TRUE(same_bits(var(x), var(turned)));
  EXPECT_TRUE(same_bits(vector_norm(x), vector_norm(turned)));
  Tensor last = cumsum(x, 0).narrow({.dim = 0, .start = 63, .length = 1});
  EXPECT_TRUE(same_bits(last.contiguous(), sum(x, 0, true)));
}

}  // namespace
}  // namespace simmesh
