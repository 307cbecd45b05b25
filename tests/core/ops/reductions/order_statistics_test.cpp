#include "core/ops/reductions/order_statistics.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/autograd/backward.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

constexpr float rank_nan = std::numeric_limits<float>::quiet_NaN();

TEST(OrderStatistics, MedianIsTheLowerOfTwo) {
  Tensor x = tensor_of<float>({2, 4}, {4, 1, 3, 2, 9, rank_nan, 8, 7});
  EXPECT_EQ(to_string(median(x, 1).indices), "int64[2] {3, 1}");
  EXPECT_EQ(to_string(median(x, 0, true).values.shape()), "[1, 4]");
  EXPECT_EQ(to_string(nanmedian(x, 1).values), "float32[2] {2, 8}");
  EXPECT_EQ(to_string(nanmedian(x, 1, true).indices), "int64[2, 1] {3, 2}");
  EXPECT_EQ(to_string(isnan(median(x))), "bool[] {true}");
  EXPECT_EQ(to_string(nanmedian(x)), "float32[] {4}");
  EXPECT_EQ(to_string(median(tensor_of<std::int64_t>({3}, {5, 9, 7}))), "int64[] {7}");
  EXPECT_EQ(to_string(isnan(nanmedian(tensor_of<float>({2}, {rank_nan, rank_nan}), 0).values)),
            "bool[] {true}");
  EXPECT_EQ(to_string(isnan(median(zeros({0}, DType::float32)))), "bool[] {true}");
  expect_error([] { median(zeros({0}, DType::float32), 0); }, ErrorKind::index_error);
}

// Rows of more than 16 elements are sorted by another part of the library's algorithm; these places
// are PyTorch's.
TEST(OrderStatistics, ModeIsTheSmallestOfTheMostFrequent) {
  Tensor x = tensor_of<float>({2, 5}, {2, 1, 2, 1, 3, rank_nan, rank_nan, 1, 0, 0});
  EXPECT_EQ(to_string(mode(x).values), "float32[2] {1, 0}");
  EXPECT_EQ(to_string(mode(x).indices), "int64[2] {3, 4}");
  EXPECT_EQ(to_string(mode(x, 0, true).values.shape()), "[1, 5]");
  EXPECT_EQ(to_string(mode(full({}, DType::float32, 3)).indices), "int64[] {0}");
  Tensor many = formula({40}, {.rule = Rule::index, .seed = 3, .below = 3, .dtype = DType::int64});
  EXPECT_EQ(to_string(mode(many).values), "int64[] {1}");
  EXPECT_EQ(to_string(mode(many).indices), "int64[] {12}");
  EXPECT_EQ(to_string(mode(zeros({2, 0}, DType::float32), 0).values.shape()), "[0]");
  expect_error([] { mode(zeros({0}, DType::float32)); }, ErrorKind::index_error, "mode");
}

TEST(OrderStatistics, QuantileLiesBetweenNeighbours) {
  Tensor x = tensor_of<double>({2, 4}, {3, 0, 1, 2, 30, 0, 10, 20});
  EXPECT_EQ(to_string(quantile(x, {.q = 0.5})), "float64[2] {1.5, 15}");
  EXPECT_EQ(to_string(quantile(x, {.q = 1, .dim = 0})), "float64[4] {30, 0, 10, 20}");
  EXPECT_EQ(to_string(quantile(x, {.q = 0.25, .dim = 1, .keepdim = true})),
            "float64[2, 1] {0.75, 7.5}");
  EXPECT_EQ(to_string(isnan(quantile(tensor_of<float>({2}, {1, rank_nan}), {.q = 0}))),
            "bool[] {true}");
  expect_error([&] { quantile(x, {.q = 1.5}); }, ErrorKind::runtime_error);
  expect_error([] { quantile(zeros({2}, DType::int64), {}); }, ErrorKind::runtime_error);
}

TEST(OrderStatistics, Gradients) {
  using Inputs = std::vector<Tensor>;
  Inputs x = {leaf({3, 4}, 1)};
  check_gradients({
      {"median", [](const Inputs& in) { return median(in[0] * in[0]); }, x},
      {"nanmedian", [](const Inputs& in) { return nanmedian(in[0] * in[0]); }, x},
      {"median of a dim", [](const Inputs& in) { return median(in[0] * in[0], 1).values; }, x},
      {"mode", [](const Inputs& in) { return mode(in[0] * in[0], 1).values; }, x},
      {"quantile", [](const Inputs& in) { return quantile(in[0] * in[0], {.q = 0.3}); }, x},
  });
}

TEST(OrderStatistics, EqualElementsShareTheGradientOfTheWholeMedian) {
  Tensor x = tensor_of<double>({4}, {2, 2, 1, 3});
  set_requires_grad(x);
  EXPECT_EQ(to_string(grad({median(x)}, {x})[0]), "float64[4] {0.5, 0.5, 0, 0}");
  EXPECT_EQ(to_string(grad({median(x, 0).values}, {x})[0]), "float64[4] {1, 0, 0, 0}");
}

}  // namespace
}  // namespace simmesh
