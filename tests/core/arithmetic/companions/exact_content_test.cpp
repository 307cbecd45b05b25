#include "core/arithmetic/companions/exact_content.h"

#include <gtest/gtest.h>

#include "core/arithmetic/sums/digit_sums.h"
#include "tests/core/arithmetic/companions/exact_cases.h"

namespace simmesh {
namespace {

CarriedSums sum_of_terms(const std::vector<double>& terms) {
  DigitSums sum(1, DigitRange::whole());
  for (double term : terms) sum.add(0, term);
  return sum.take();
}

// If this fails, a sum that two doubles hold is kept in digits, or the other way round.
TEST(ExactContent, PairsAreFoundWhereThereAreSome) {
  for (double a : small_numbers())
    for (double b : small_numbers()) {
      ExactPair pair = pair_of(sum_of_terms({a, b}), 0);
      ASSERT_TRUE(pair.is_exact());
      ASSERT_EQ(pair.high, a + b);
      ASSERT_EQ(rational(pair.high) + rational(pair.low), rational(a) + rational(b));
      for (double c : small_numbers()) {
        Rational sum = rational(a) + rational(b) + rational(c);
        double high = sum_of_terms({a, b, c}).rounded(0, DType::float64);
        Rational rest = sum - rational(high);
        double low = rest.convert_to<double>();
        ExactPair found = pair_of(sum_of_terms({a, b, c}), 0);
        ASSERT_EQ(found.is_exact(), rest == rational(low)) << a << " " << b << " " << c;
      }
    }
  // The rest of this sum has 54 bits on one side of the nearest double, and 53 on the other.
  EXPECT_TRUE(pair_of(sum_of_terms({1, 0x1p-53, 0x1p-106}), 0).is_exact());
}

// If this fails, digits of some places are those of others.
TEST(ExactContent, SettledPlacesAreReadBack) {
  DigitSums sums(4, DigitRange::whole());
  const double terms[4][3] = {
      {1, 0x1p-60, 0x1p-130}, {5, 0, 0}, {1e200, 1e-90, 0}, {-3, 0x1p-70, -0x1p-140}};
  for (int i = 0; i < 4; ++i)
    for (double term : terms[i]) sums.add(i, term);
  ExactContent content{.count = 6, .high = {7, 0, 0, 8, 0, 0}};
  const std::int64_t places[] = {1, 2, 4, 5};
  content.settle(places, sums.take());
  EXPECT_EQ(content.wide_places, (std::vector<std::int64_t>{1, 5}));
  ExactValues values(content);
  auto exact = [&](int i) {
    return rational(terms[i][0]) + rational(terms[i][1]) + rational(terms[i][2]);
  };
  EXPECT_EQ(rational(values, 0), 7);
  EXPECT_EQ(rational(values, 1), exact(0));
  EXPECT_EQ(rational(values, 2), exact(1));
  EXPECT_EQ(rational(values, 3), 8);
  EXPECT_EQ(rational(values, 4), exact(2));
  EXPECT_EQ(rational(values, 5), exact(3));
  const CarriedSums parts[] = {content.wide, sum_of_terms({0x1p100})};
  CarriedSums joined = joined_digits(parts);
  EXPECT_EQ(joined.count(), 3);
  EXPECT_EQ(joined.rounded(2, DType::float64), 0x1p100);
  EXPECT_EQ(joined.rounded(1, DType::float64), -3);
}

// If this fails, values with many digits stay, or an overflow of a rounded one isn't infinity.
TEST(ExactContent, LongValuesAreRounded) {
  ExactContent content{.count = 1, .high = {0}};
  const std::int64_t places[] = {0};
  content.settle(places, sum_of_terms({1e300, 1, 1e-300}));
  EXPECT_TRUE(content.wide_places.empty());
  EXPECT_EQ(content.high[0], 1e300);
  ExactContent third{.count = 1, .high = {0}, .divisor = 3};
  third.settle(places, sum_of_terms({1e300, 1, 1e-300}));
  EXPECT_EQ(rational(ExactValues(third), 0), rational(1e300 / 3));
  DigitSums large(1, DigitRange::whole());
  large.add_product(0, 1e300, 1e300);
  large.add(0, 1);
  content.settle(places, large.take());
  EXPECT_EQ(content.high[0], HUGE_VAL);
}

}  // namespace
}  // namespace simmesh
