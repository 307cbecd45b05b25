#include "core/arithmetic/sums/odd_factor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace simmesh {
namespace {

// If this fails, sums are scaled by another number than the factor.
TEST(OddFactor, IsTheFactorWithoutItsPowersOfTwo) {
  for (double factor : {1.0, -1.0, 6.0, -0.1, 0x1p1023, std::numeric_limits<double>::max(),
                        std::numeric_limits<double>::min(), 0x1p-1074, -3 * 0x1p-1074}) {
    OddFactor found = OddFactor::of(factor);
    EXPECT_NE(found.odd % 2, 0) << factor;
    EXPECT_EQ(std::ldexp(double(found.odd), found.exponent), factor);
  }
  for (double zero : {0.0, -0.0}) EXPECT_EQ(OddFactor::of(zero).odd, 0);
}

}  // namespace
}  // namespace simmesh
