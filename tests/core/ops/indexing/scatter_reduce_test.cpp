#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>

#include "core/autograd/backward.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/shapes/factories.h"
#include "tests/core/gradients/gradient_case.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

using Whole = std::int64_t;

// Element 0 gets 1 and 2, element 1 gets 3, element 2 nothing.
std::string reduced(std::string_view reduce, bool include_self) {
  Tensor x = tensor_of<float>({3}, {8, 5, 7}), source = tensor_of<float>({4}, {1, 3, 2, 9});
  Tensor index = tensor_of<Whole>({3}, {0, 1, 0});
  return to_string(
      scatter_reduce(x, 0, index, source, {.reduce = reduce, .include_self = include_self}));
}

TEST(ScatterReduce, CombinesTheSourcesOfAnElement) {
  EXPECT_EQ(reduced("sum", true), "float32[3] {11, 8, 7}");
  EXPECT_EQ(reduced("sum", false), "float32[3] {3, 3, 7}");
  EXPECT_EQ(reduced("prod", true), "float32[3] {16, 15, 7}");
  EXPECT_EQ(reduced("prod", false), "float32[3] {2, 3, 7}");
  EXPECT_EQ(reduced("mean", true), "float32[3] {3.6666667, 4, 7}");
  EXPECT_EQ(reduced("mean", false), "float32[3] {1.5, 3, 7}");
  EXPECT_EQ(reduced("amax", true), "float32[3] {8, 5, 7}");
  EXPECT_EQ(reduced("amax", false), "float32[3] {2, 3, 7}");
  EXPECT_EQ(reduced("amin", true), "float32[3] {1, 3, 7}");
  EXPECT_EQ(reduced("amin", false), "float32[3] {1, 3, 7}");
  expect_error([] { reduced("median", true); }, ErrorKind::runtime_error);
}

TEST(ScatterReduce, KeepsIntegersAndNan) {
  Tensor x = tensor_of<Whole>({2}, {-4, INT64_MIN}), index = tensor_of<Whole>({2}, {0, 0});
  Tensor source = tensor_of<Whole>({2}, {-3, 2});
  EXPECT_EQ(to_string(scatter_reduce(x, 0, index, source, {.reduce = "mean"})),
            "int64[2] {-2, -9223372036854775808}");
  EXPECT_EQ(
      to_string(scatter_reduce(x, 0, index, source, {.reduce = "amax", .include_self = false})),
      "int64[2] {2, -9223372036854775808}");
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_string(isnan(
                scatter_reduce(tensor_of<float>({2}, {1, nan}), 0, tensor_of<Whole>({3}, {0, 0, 1}),
                               tensor_of<float>({3}, {nan, 2, 3}), {.reduce = "amin"}))),
            "bool[2] {true, true}");
  EXPECT_EQ(to_string(scatter_reduce(tensor_of<float>({2}, {1, 2}), 0, zeros({0}, DType::int64),
                                     zeros({0}, DType::float32), {.reduce = "prod"})),
            "float32[2] {1, 2}");
}

// Covers sources with a place and without one, with and without the element itself.
TEST(ScatterReduce, Gradients) {
  Tensor index = tensor_of<Whole>({2, 3}, {0, 1, 0, 2, 2, 2});
  for (bool include_self : {true, false})
    for (std::string_view reduce : {"sum", "prod", "mean", "amax", "amin"})
      check_gradients({{fmt::format("{} {}", reduce, include_self),
                        [=](const std::vector<Tensor>& x) {
                          return scatter_reduce(x[0] * 1.0, 1, index, x[1] * x[1],
                                                {.reduce = reduce, .include_self = include_self});
                        },
                        {leaf({2, 3}, 1), leaf({3, 3}, 2)}}});
}

// Where one factor is zero it alone has a slope.
TEST(ScatterReduce, GradientOfAProductWithAZero) {
  Tensor x = tensor_of<double>({2}, {0, 3}), source = tensor_of<double>({3}, {2, 0, 5});
  set_requires_grad(x);
  set_requires_grad(source);
  Tensor index = tensor_of<Whole>({3}, {0, 1, 1});
  GradcheckOptions first_order{.second_order = false};
  EXPECT_EQ(gradcheck(
                [=](const std::vector<Tensor>& in) {
                  return std::vector{scatter_reduce(in[0], 0, index, in[1], {.reduce = "prod"})};
                },
                {x, source}, first_order),
            "");
}

TEST(ScatterReduce, EqualExtremesShareTheGradient) {
  Tensor x = tensor_of<double>({1}, {4}), source = tensor_of<double>({3}, {4, 4, 1});
  set_requires_grad(x);
  set_requires_grad(source);
  Tensor index = zeros({3}, DType::int64);
  auto gradients = [&](bool include_self) {
    Tensor result =
        scatter_reduce(x, 0, index, source, {.reduce = "amax", .include_self = include_self});
    return grad({result}, {x, source}, {.gradients = {ones({1}, DType::float64) * 6}});
  };
  EXPECT_EQ(to_string(gradients(true)[0]), "float64[1] {2}");
  EXPECT_EQ(to_string(gradients(true)[1]), "float64[3] {2, 2, 0}");
  EXPECT_EQ(to_string(gradients(false)[0]), "float64[1] {0}");
  EXPECT_EQ(to_string(gradients(false)[1]), "float64[3] {3, 3, 0}");
}

}  // namespace
}  // namespace simmesh
