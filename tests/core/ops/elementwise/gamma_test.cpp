#include "core/ops/elementwise/gamma.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

double at(Tensor (*f)(const Tensor&), double x) {
  return f(tensor_of<double>({1}, {x})).values<double>()[0];
}

// Values of mpmath with 30 digits. What is added up is below 100, so that 1e-13 is far above the
// rounding.
TEST(Gamma, HasTheValuesOfTheFunctions) {
  EXPECT_NEAR(at(lgamma, 0.5), 0.57236494292470008707, 1e-13);
  EXPECT_NEAR(at(lgamma, 3.0), 0.69314718055994530942, 1e-13);
  EXPECT_NEAR(at(lgamma, 30.0), 71.257038967168009010, 1e-13);
  EXPECT_NEAR(at(lgamma, -2.5), -0.056243716497674054, 1e-13);
  EXPECT_NEAR(at(digamma, 1.0), -0.57721566490153286061, 1e-13);
  EXPECT_NEAR(at(digamma, -0.5), 0.036489973978576520559, 1e-13);
  EXPECT_NEAR(at(digamma, 20.0), 2.9705239922421490509, 1e-13);
  EXPECT_NEAR(at(trigamma, 1.0), 1.6449340668482264365, 1e-13);
  EXPECT_NEAR(at(trigamma, -0.5), 8.9348022005446793094, 1e-13);
}

TEST(Gamma, OfPolesAndInfinities) {
  for (double pole : {0.0, -1.0, -7.0}) EXPECT_EQ(at(lgamma, pole), endless) << pole;
  EXPECT_EQ(at(lgamma, 1.0), 0);
  EXPECT_EQ(at(lgamma, 2.0), 0);
  EXPECT_EQ(at(lgamma, -endless), endless);
  EXPECT_EQ(at(digamma, 0.0), -endless);
  EXPECT_EQ(at(digamma, -0.0), endless);
  EXPECT_TRUE(std::isnan(at(digamma, -3.0)));
  EXPECT_TRUE(std::isnan(at(digamma, -endless)));
  EXPECT_EQ(at(trigamma, 0.0), endless);
  EXPECT_EQ(at(trigamma, endless), 0);
  EXPECT_TRUE(std::isnan(at(lgamma, std::nan(""))));
}

TEST(Gamma, Gradients) {
  using Inputs = std::vector<Tensor>;
  Tensor x = tensor_of<double>({3}, {0.7, 2.5, -1.4});
  set_requires_grad(x);
  check_gradients({{"lgamma", [](const Inputs& in) { return lgamma(in[0]); }, {x}}});
}

}  // namespace
}  // namespace simmesh
