#include "core/arithmetic/sums/leading_bits.h"

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <gtest/gtest.h>

#include "core/arithmetic/sums/digit_sums.h"

namespace simmesh {
namespace {

CarriedSums sum_of(const std::vector<double>& terms) {
  DigitSums sum(1, DigitRange::whole());
  for (double term : terms) sum.add(0, term);
  return sum.take();
}

LeadingBits leading_of(const CarriedSums& sum) {
  return leading_bits({sum.digit(0), 1, sum.digit_count(), sum.low(), sum.divisor()});
}

double root_of(const std::vector<double>& terms, std::int64_t divisor, DType dtype) {
  return rounded_root(leading_of(sum_of(terms).over(divisor)), dtype);
}

// If this fails, the highest bits of a sum are others, or what lies below them is forgotten.
TEST(LeadingBits, ARestBelowIsSaid) {
  LeadingBits one = leading_of(sum_of({1}));
  EXPECT_EQ(std::ldexp(double(std::int64_t(one.bits)), one.exponent), 1);
  EXPECT_EQ(one.rest_sign, 0);
  EXPECT_GT(leading_of(sum_of({1, 1e-200})).rest_sign, 0);
  EXPECT_LT(leading_of(sum_of({1, -1e-200})).rest_sign, 0);
  EXPECT_EQ(leading_of(CarriedSums::zeros(1)).bits, 0);
}

// If this fails, a root isn't the nearest number: a square of an integer has its root, and the
// least step up or down from the square of a midpoint goes to the side of the step.
TEST(LeadingBits, RootsAreRoundedOnce) {
  for (double x : {1.0, 3.0, 0.1, 0x1.fffffffffffffp0, 0x1p-500, 1e150})
    for (double divisor : {1.0, 9.0, 25.0}) {
      DigitSums square(1, DigitRange::whole());
      square.add_product(0, x, x);
      CarriedSums sums = square.take().over(std::int64_t(divisor));
      double root = rounded_root(leading_of(sums), DType::float64);
      EXPECT_LE(std::fabs(root - x / std::sqrt(divisor)), std::fabs(root) * 0x1p-52);
      if (divisor == 1) {
        EXPECT_EQ(root, x);
      }
    }
  double midpoint = 1 + 0x1p-24;  // between two floats
  double square = midpoint * midpoint;
  EXPECT_EQ(root_of({square}, 1, DType::float32), 1);
  EXPECT_EQ(root_of({square, 1e-300}, 1, DType::float32), 1 + 0x1p-23);
  EXPECT_EQ(root_of({square, -1e-300}, 1, DType::float32), 1);
  EXPECT_EQ(root_of({3 * square}, 3, DType::float32), 1);
  EXPECT_EQ(root_of({3 * square, 0x1p-200}, 3, DType::float32), 1 + 0x1p-23);
  EXPECT_EQ(root_of({0}, 7, DType::float64), 0);
  EXPECT_TRUE(std::isnan(root_of({-1e-300}, 1, DType::float64)));
  EXPECT_EQ(root_of({2}, 1, DType::float64), std::sqrt(2.0));
  EXPECT_EQ(root_of({2}, 1, DType::bfloat16), 0x1.6ap0);
  EXPECT_EQ(root_of({0x1p-1074}, 1, DType::float64), 0x1p-537);
}

}  // namespace
}  // namespace simmesh
