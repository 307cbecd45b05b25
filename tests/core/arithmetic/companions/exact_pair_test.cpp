#include "core/arithmetic/companions/exact_pair.h"

#include <gtest/gtest.h>
#include <limits>

#include "tests/core/arithmetic/companions/exact_cases.h"

namespace simmesh {
namespace {

Rational sum_of_parts(const ExactPair& pair) { return rational(pair.high) + rational(pair.low); }

// If this fails, a pair is said to be exact where it isn't, or isn't the nearest double and the
// rest.
TEST(ExactPair, WhatIsExactIsTheValue) {
  for (double a : small_numbers())
    for (double b : small_numbers()) {
      ExactPair product = multiplied(a, b), sum = added({a}, b);
      ASSERT_TRUE(sum.is_exact());
      ASSERT_EQ(sum_of_parts(sum), rational(a) + rational(b));
      if (product.is_exact()) {
        ASSERT_EQ(sum_of_parts(product), rational(a) * rational(b));
        ASSERT_EQ(product.high + product.low, product.high);
      }
      for (double c : small_numbers()) {
        ExactPair triple = added(sum, c);
        if (!triple.is_exact()) continue;
        ASSERT_EQ(sum_of_parts(triple), rational(a) + rational(b) + rational(c));
        ASSERT_EQ(triple.high + triple.low, triple.high);
      }
    }
}

// If this fails, a product that needs bits below a double's, or a number that isn't finite, passes
// for exact, or a zero has a sign.
TEST(ExactPair, WhatDoesNotFitIsSaid) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(multiplied(0x1p-600, 0x1p-600).is_exact());
  EXPECT_FALSE(multiplied(1e200, 1e200).is_exact());
  EXPECT_FALSE(multiplied(infinity, 0).is_exact());
  EXPECT_FALSE(added({infinity}, 1).is_exact());
  EXPECT_FALSE(added({1e308}, 1e308).is_exact());
  EXPECT_FALSE(added(added({1}, 0x1p-60), 0x1p-130).is_exact());
  EXPECT_FALSE(std::signbit(multiplied(-1, 0).high));
  EXPECT_FALSE(std::signbit(added({-0.0}, -0.0).high));
}

}  // namespace
}  // namespace simmesh
