#include "core/arithmetic/sums/scaled_sums.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/arithmetic/sums/digit_sums.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

CarriedSums sum_of_one(double term) {
  DigitSums sums(1, DigitRange::whole());
  sums.add(0, term);
  return sums.take();
}

double value_of(const CarriedSums& sums) { return sums.rounded(0, DType::float64); }

// If this fails, a factor rounds.
TEST(ScaledSums, NoFactorRounds) {
  DigitSums sums(2, DigitRange::whole());
  sums.add(0, 1e300);
  sums.add(0, 1e-300);
  sums.add(1, -3);
  CarriedSums tenths = scaled(sums.take(), 0.1);
  ExactOracle oracle;
  oracle.add_product(1e300, 0.1);
  oracle.add_product(1e-300, 0.1);
  EXPECT_EQ(tenths.rounded(0, DType::float64), oracle.rounded(DType::float64));
  EXPECT_EQ(tenths.rounded(1, DType::float64), -3 * 0.1);
}

// If this fails, a power of two moves digits to the wrong place, or an infinity changes.
TEST(ScaledSums, PowersOfTwoAndInfinitiesStayWhatTheyAre) {
  for (double factor : {0x1p32, 0x1p-64, 0x1p5, -0x1p33})
    EXPECT_EQ(value_of(scaled(sum_of_one(0x1.8p3), factor)), 0x1.8p3 * factor);
  EXPECT_EQ(value_of(scaled(sum_of_one(HUGE_VAL), -2)), -HUGE_VAL);
}

// If this fails, a sum over a divisor is rounded too early, or over one that it can't keep.
TEST(ScaledSums, DivisorsAreKeptUpToTheirBound) {
  CarriedSums third = divided(sum_of_one(1), -3);
  EXPECT_EQ(value_of(third), -1.0 / 3);
  EXPECT_EQ(value_of(scaled(third, 3)), -1);
  EXPECT_EQ(value_of(over_one(third, 6)), -2);
  EXPECT_TRUE(can_be_divided(third, 0x1p50));
  EXPECT_FALSE(can_be_divided(third, 0x1p52 + 1));
  EXPECT_FALSE(can_be_divided(third, 0));
  EXPECT_FALSE(can_be_divided(third, HUGE_VAL));
}

}  // namespace
}  // namespace simmesh
