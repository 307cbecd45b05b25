#include "core/arithmetic/companions/exact_arithmetic.h"

#include <gtest/gtest.h>

#include "tests/core/arithmetic/companions/exact_cases.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

ExactValues of_one(double x) { return ExactValues::of_doubles({x}); }

// True if a value has so few digits that none of its bits is rounded off.
bool fits(const Rational& value) {
  using boost::multiprecision::cpp_int;
  cpp_int top = abs(numerator(value));
  return top == 0 || int(msb(top)) - int(lsb(top)) < 32 * 30;
}

// If this fails, a sum or product of some two or three numbers isn't exact.
TEST(ExactArithmetic, SumsAndProductsOfFewNumbersAreExact) {
  for (double a : small_numbers())
    for (double b : small_numbers()) {
      ExactValues sum = of_one(a).plus(of_one(b)), product = of_one(a).times(of_one(b));
      if (fits(rational(a) + rational(b))) {
        ASSERT_EQ(rational(sum, 0), rational(a) + rational(b)) << a << " + " << b;
      }
      ASSERT_EQ(rational(product, 0), rational(a) * rational(b)) << a << " * " << b;
      for (double c : small_numbers()) {
        Rational exact = rational(a) * rational(b) + rational(c);
        if (!fits(exact)) continue;
        ASSERT_EQ(rational(product.plus(of_one(c)), 0), exact) << a << " * " << b << " + " << c;
        Rational quotient = (rational(a) * rational(b) + rational(c)) / 21;
        ExactValues seventh = product.divided(7).plus(of_one(c).divided(7)).divided(3);
        ASSERT_EQ(rational(seventh, 0), quotient) << a << ", " << b << ", " << c;
      }
    }
}

// If this fails, which form a value has depends on how it was computed, and so does what is rounded
// when it grows.
TEST(ExactArithmetic, EqualValuesHaveOneForm) {
  for (double a : small_numbers())
    for (double b : small_numbers())
      for (double c : small_numbers()) {
        if (!fits(rational(a) + rational(b) + rational(c)) || !fits(rational(a) + rational(b)) ||
            !fits(rational(a) + rational(c)) || !fits(rational(b) + rational(c)))
          continue;
        ExactValues one = of_one(a).plus(of_one(b)).plus(of_one(c));
        for (const ExactValues& other :
             {of_one(c).plus(of_one(a)).plus(of_one(b)), of_one(b).plus(of_one(c)).plus(of_one(a)),
              ExactValues::of_doubles({a, b, c}).summed({1, 3, 1})}) {
          ASSERT_EQ(one.content().high, other.content().high);
          ASSERT_EQ(one.content().low, other.content().low);
          ASSERT_EQ(one.content().wide_places, other.content().wide_places);
        }
      }
}

// If this fails, a divisor that can't be kept is taken for one that can.
TEST(ExactArithmetic, ManyDivisorsAreRounded) {
  ExactValues x = of_one(1);
  for (int i = 0; i < 40; ++i) x = x.divided(7);
  double expected = 1;
  for (int i = 0; i < 40; ++i) expected /= 7;
  EXPECT_NEAR(doubles_of(x)[0] / expected, 1, 1e-14);
  EXPECT_LE(x.divisor(), std::int64_t(1) << 53);
  EXPECT_EQ(common_divisor(6, 10), 30);
  EXPECT_EQ(common_divisor(std::int64_t(1) << 52, 3), std::nullopt);
  ExactValues product = of_one(1).divided(0x1p52 + 1).times(of_one(1).divided(0x1p52 + 3));
  EXPECT_EQ(product.divisor(), 1);
}

// If this fails, arrays of different counts are combined.
TEST(ExactArithmetic, CountsMustAgree) {
  testing::expect_error(
      [] { ExactValues::zeros(2).plus(ExactValues::zeros(3)); }, ErrorKind::value_error,
      "[companions/values] expected as many values on both sides, or one, got 2 and 3");
}

}  // namespace
}  // namespace simmesh
