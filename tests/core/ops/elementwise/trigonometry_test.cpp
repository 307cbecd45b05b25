#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

constexpr double angle_infinity = std::numeric_limits<double>::infinity();

TEST(Trigonometry, AtKnownPoints) {
  EXPECT_EQ(to_string(asin(tensor_of<float>({3}, {0, 1, 2}))), "float32[3] {0, 1.5707964, nan}");
  EXPECT_EQ(to_string(acos(tensor_of<float>({2}, {1, -1}))), "float32[2] {0, 3.1415927}");
  EXPECT_EQ(to_string(atan(tensor_of<std::int64_t>({2}, {0, 1}))), "float32[2] {0, 0.7853982}");
  EXPECT_EQ(to_string(cosh(tensor_of<float>({2}, {0, 1}))), "float32[2] {1, 1.5430807}");
  EXPECT_EQ(to_string(asinh(tensor_of<float>({1}, {1}))), "float32[1] {0.8813736}");
  EXPECT_EQ(to_string(acosh(tensor_of<float>({2}, {1, 2}))), "float32[2] {0, 1.316958}");
  EXPECT_EQ(to_string(atanh(tensor_of<float>({2}, {0.5, 1}))), "float32[2] {0.54930615, inf}");
  EXPECT_EQ(to_string(erfc(tensor_of<float>({2}, {0, 3}))), "float32[2] {1, 2.2090497e-05}");
  EXPECT_EQ(to_string(log10(tensor_of<float>({2}, {1000, 0}))), "float32[2] {3, -inf}");
  EXPECT_EQ(to_string(xlogy(tensor_of<double>({3}, {0, 0, 2}), tensor_of<double>({3}, {0, -1, 1}))),
            "float64[3] {0, 0, 0}");
}

// Each quadrant, zeros of both signs and infinities as the C library has them.
TEST(Trigonometry, Atan2FollowsTheCLibrary) {
  const double values[] = {
      0.0, -0.0, 1, -1, 0.3, -7, 1e-310, 1e300, angle_infinity, -angle_infinity};
  for (double y : values)
    for (double x : values) {
      Tensor got = atan2(full({}, DType::float64, y), full({}, DType::float64, x));
      double expected = std::atan2(y, x), angle = got.values<double>()[0];
      EXPECT_LE(std::fabs(angle - expected), std::fabs(expected) * 0x1p-51) << y << ", " << x;
      EXPECT_EQ(std::signbit(angle), std::signbit(expected)) << y << ", " << x;
    }
  Tensor nan = full({}, DType::float64, std::nan(""));
  EXPECT_TRUE(std::isnan(atan2(nan, full({}, DType::float64, 1)).values<double>()[0]));
  EXPECT_EQ(to_string(atan2(tensor_of<float>({2}, {1, -1}), tensor_of<float>({1}, {0}))),
            "float32[2] {1.5707964, -1.5707964}");
}

TEST(Trigonometry, HypotLeavesNoRange) {
  auto of = [](double a, double b) {
    return hypot(full({}, DType::float64, a), full({}, DType::float64, b)).values<double>()[0];
  };
  EXPECT_EQ(of(3, -4), 5);
  EXPECT_EQ(of(3e300, 4e300), 5e300);
  EXPECT_EQ(of(0x3p-1060, 0x4p-1060), 0x5p-1060);
  EXPECT_EQ(of(0, -0.0), 0);
  EXPECT_EQ(of(std::nan(""), -angle_infinity), angle_infinity);
  EXPECT_EQ(to_string(hypot(tensor_of<float>({2}, {3, 5}), tensor_of<float>({2, 1}, {4, 12}))),
            "float32[2, 2] {5, 6.4031243, 12.369317, 13}");
}

TEST(Trigonometry, GradientsOfFunctions) {
  using Inputs = std::vector<Tensor>;
  Inputs any = {leaf({2, 3}, 1)}, above = {leaf({2, 3}, 1, 2.5)};
  auto of = [](Tensor (*f)(const Tensor&)) { return [f](const Inputs& x) { return f(x[0]); }; };
  auto within = [](Tensor (*f)(const Tensor&)) {
    return [f](const Inputs& x) { return f(x[0] * 0.8); };
  };
  check_gradients({
      {"asin", within(asin), any},
      {"acos", within(acos), any},
      {"atan", of(atan), any},
      {"sinh", of(sinh), any},
      {"cosh", of(cosh), any},
      {"asinh", of(asinh), any},
      {"acosh", of(acosh), above},
      {"atanh", within(atanh), any},
      {"erfc", of(erfc), any},
      {"log10", of(log10), above},
  });
  Inputs two = {leaf({2, 3}, 1, 2.0), leaf({3}, 2, -2.0)};
  check_gradients({
      {"atan2", [](const Inputs& x) { return atan2(x[0], x[1]); }, two},
      {"hypot", [](const Inputs& x) { return hypot(x[0], x[1]); }, two},
      {"xlogy", [](const Inputs& x) { return xlogy(x[1], x[0]); }, two},
  });
}

}  // namespace
}  // namespace simmesh
