#include "core/ops/elementwise/special.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/ops/elementwise/elementary.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

double value_at(Tensor (*f)(const Tensor&), double x) {
  return f(tensor_of<double>({1}, {x})).values<double>()[0];
}

bool is_true_at(Tensor (*f)(const Tensor&), double x) {
  return f(tensor_of<double>({1}, {x})).values<bool>()[0];
}

// Values of mpmath with 30 digits; the results are below 2.3, so that 1e-15 is a few ulps of them.
TEST(Special, HasTheValuesOfTheFunctions) {
  EXPECT_NEAR(value_at(sinc, 0.5), 0.636619772367581343, 1e-15);
  EXPECT_EQ(value_at(sinc, 0), 1);
  EXPECT_EQ(value_at(angle, -2), 3.14159265358979324);
  EXPECT_EQ(value_at(angle, 2), 0);
  EXPECT_EQ(value_at(angle, -0.0), 0);
  EXPECT_EQ(to_string(angle(tensor_of<std::int64_t>({1}, {3}))), "float32[1] {0}");
  EXPECT_NEAR(value_at(entr, 0.5), 0.346573590279972655, 1e-15);
  EXPECT_EQ(value_at(entr, 0), 0);
  EXPECT_EQ(value_at(entr, -1), -no_limit);
  EXPECT_NEAR(value_at(i0, 1), 1.26606587775200834, 1e-15);
  EXPECT_NEAR(value_at(i0, -2), 2.27958530233606727, 1e-15);
  EXPECT_NEAR(value_at(rad2deg, 1), 57.2957795130823209, 1e-13);
  EXPECT_NEAR(value_at(deg2rad, 180), 3.14159265358979324, 1e-15);
  EXPECT_NEAR(logit(tensor_of<double>({1}, {0.25})).values<double>()[0], -1.09861228866810969,
              1e-15);
  EXPECT_EQ(logit(tensor_of<double>({1}, {0.1}), 0.5).values<double>()[0], 0);
}

// A wrong branch near 1 loses all digits there.
TEST(Special, ErfinvIsTheInverseOfErf) {
  for (double x : {-0.999, -0.75, -0.5, -0.1, 1e-8, 0.3, 0.5, 0.9, 0.99999}) {
    double y = value_at(erfinv, x);
    EXPECT_NEAR(value_at(erf, y), x, 4e-16) << x;
  }
  EXPECT_EQ(value_at(erfinv, 1), no_limit);
  EXPECT_EQ(value_at(erfinv, -1), -no_limit);
  EXPECT_TRUE(std::isnan(value_at(erfinv, 1.5)));
}

TEST(Special, TellsSignsAndParts) {
  EXPECT_EQ(value_at(frac, -2.75), -0.75);
  EXPECT_TRUE(is_true_at(signbit, -0.0));
  EXPECT_FALSE(is_true_at(signbit, 0.0));
  EXPECT_TRUE(is_true_at(isposinf, no_limit));
  EXPECT_FALSE(is_true_at(isposinf, -no_limit));
  EXPECT_TRUE(is_true_at(isneginf, -no_limit));
  Tensor x = tensor_of<double>({3}, {-2, 0, 3});
  Tensor steps = heaviside(x, tensor_of<double>({1}, {0.5}));
  EXPECT_TRUE(same_bits(steps, tensor_of<double>({3}, {0, 0.5, 1})));
  testing::expect_error([&] { heaviside(x, tensor_of<float>({1}, {0.5f})); },
                        ErrorKind::runtime_error, "different dtypes");
}

TEST(Special, ShrinksAndBends) {
  Tensor x = tensor_of<double>({4}, {-2, -0.25, 0.5, 3});
  EXPECT_TRUE(same_bits(hardshrink(x), tensor_of<double>({4}, {-2, 0, 0, 3})));
  EXPECT_TRUE(same_bits(softshrink(x), tensor_of<double>({4}, {-1.5, 0, 0, 2.5})));
  EXPECT_TRUE(same_bits(prelu_kernel(x, tensor_of<double>({1}, {0.5})),
                        tensor_of<double>({4}, {-1, -0.125, 0.5, 3})));
  EXPECT_NEAR(celu(x, 2).values<double>()[0], 2 * (std::exp(-1.0) - 1), 1e-15);
}

TEST(Special, DividesIntegers) {
  Tensor a = tensor_of<std::int64_t>({4}, {12, -4, 0, 0});
  Tensor b = tensor_of<std::int64_t>({4}, {18, 6, 5, 0});
  EXPECT_TRUE(same_bits(gcd(a, b), tensor_of<std::int64_t>({4}, {6, 2, 5, 0})));
  EXPECT_TRUE(same_bits(lcm(a, b), tensor_of<std::int64_t>({4}, {36, 12, 0, 0})));
  testing::expect_error([&] { gcd(tensor_of<double>({1}, {1}), b); },
                        ErrorKind::not_implemented_error, "gcd_cpu");
}

}  // namespace
}  // namespace simmesh
