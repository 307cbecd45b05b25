#include "core/arithmetic/sums/digit_sums.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

constexpr DType digit_dtypes[] = {DType::float64, DType::float32, DType::bfloat16, DType::float16};

// If this fails, a long accumulator loses or invents bits.
TEST(DigitSums, AreThoseOfTheOracleInEveryOrder) {
  std::mt19937_64 random(41);
  for (DType dtype : digit_dtypes)
    for (TermKind kind : term_kinds)
      for (int turn = 0; turn < 60; ++turn) {
        std::vector<double> terms = random_terms(dtype, kind, 1 + random() % 40, random);
        ExactOracle oracle;
        for (double x : terms) oracle.add(x);
        for (int order = 0; order < 3; ++order) {
          std::shuffle(terms.begin(), terms.end(), random);
          DigitSums sums(2, DigitRange::whole()), part(2, DigitRange::whole());
          std::size_t half = random() % (terms.size() + 1);
          for (std::size_t i = 0; i < terms.size(); ++i) (i < half ? sums : part).add(1, terms[i]);
          sums.add_sums(part.take());
          CarriedSums exact = sums.take();
          EXPECT_PRED2(same_double, exact.rounded(1, dtype), oracle.rounded(dtype));
          EXPECT_PRED2(same_double, exact.rounded(0, dtype), 0.0);
        }
      }
}

// If this fails, a product of doubles is rounded before it is added.
TEST(DigitSums, ProductsAreExact) {
  std::mt19937_64 random(42);
  for (TermKind kind : term_kinds)
    for (int turn = 0; turn < 50; ++turn) {
      std::vector<double> a = random_terms(DType::float64, kind, 12, random);
      std::vector<double> b = random_terms(DType::float64, kind, 12, random);
      ExactOracle oracle;
      DigitSums sums(1, DigitRange::whole());
      for (std::size_t k = 0; k < a.size(); ++k) {
        oracle.add_product(a[k], b[k]);
        sums.add_product(0, a[k], b[k]);
      }
      CarriedSums exact = sums.take();
      for (DType dtype : digit_dtypes) {
        EXPECT_PRED2(same_double, exact.rounded(0, dtype), oracle.rounded(dtype));
        EXPECT_PRED2(same_double, exact_dot({a.data(), 1}, {b.data(), 1}, 12, dtype),
                     oracle.rounded(dtype));
      }
    }
}

// If this fails, a range that is just wide enough is too narrow for a negative term.
TEST(DigitSums, TheHighestDigitTakesTheSign) {
  for (double x : {-0x1p-1074, -0x1.8p-1060, 0x1p-1058})
    for (int scale = 0; scale < 2000; scale += 7) {
      double term = std::ldexp(x, scale);
      int highest = std::ilogb(term) + 1;
      DigitSums sums(1, DigitRange::of_bits(highest - 2, highest, 1));
      sums.add(0, term);
      EXPECT_EQ(sums.take().rounded(0, DType::float64), term);
    }
}

// If this fails, digits that nothing needs are carried along.
TEST(DigitSums, TakeTrims) {
  DigitSums sums(3, DigitRange::whole());
  EXPECT_EQ(sums.take().digit_count(), 0);
  sums.add(2, 1.5);
  CarriedSums taken = sums.take();
  EXPECT_EQ(taken.digit_count(), 2);
  EXPECT_EQ(taken.low(), -1);
}

bool are_same(const CarriedSums& a, const CarriedSums& b) {
  if (a.count() != b.count() || a.low() != b.low() || a.digit_count() != b.digit_count())
    return false;
  std::int64_t digits = a.count() * a.digit_count();
  return std::equal(a.digit(0), a.digit(0) + digits, b.digit(0));
}

// If this fails, terms that are added together are cut into other digits than one by one, or others
// than numbers that lie near 1 are.
TEST(DigitSums, TermsAddedTogetherAreThoseAddedOneByOne) {
  std::mt19937_64 random(42);
  for (double scale : {1.0, 0x1p200, 0x1p-300, 0x1p-1000, 0x1p950}) {
    std::vector<double> terms;
    for (int i = 0; i < 700; ++i) {
      double x = double(std::int64_t(random()));
      terms.push_back(std::ldexp(x, -int(random() % 150)) * scale * 0x1p-63);
    }
    DigitSums together(1000, DigitRange::whole()), apart(1000, DigitRange::whole());
    int low = scale < 1 ? std::ilogb(scale) / 32 - 8 : std::ilogb(scale) / 32 - 7;
    DigitSums near(1000, {low, 12});
    for (int turn = 0; turn < 3; ++turn) {
      together.add_terms(terms, 9);
      near.add_terms(terms, 9);
      for (std::size_t i = 0; i < terms.size(); ++i) apart.add(std::int64_t(i) + 9, terms[i]);
    }
    CarriedSums expected = apart.take();
    EXPECT_TRUE(are_same(together.take(), expected)) << scale;
    EXPECT_TRUE(are_same(near.take(), expected)) << scale;
  }
}

// If this fails, a sum of digits, or a product of two, is another number.
TEST(DigitSums, DigitsAreAddedAndMultiplied) {
  const double terms[][2] = {{1, 0}, {-3, 0x1p-70}, {0x1p80, -0x1.5p-40}, {0, 0}, {5e30, -5e-30}};
  DigitRange range{-8, 14};
  for (const auto& x : terms)
    for (const auto& y : terms) {
      DigitSums one(1, range), other(1, range), products(2, DigitRange::whole());
      DigitSums expected(2, DigitRange::whole());
      for (double term : x) one.add(0, term);
      for (double term : y) other.add(0, term);
      for (double a : x) {
        expected.add(0, a);
        for (double b : y) expected.add_product(1, a, b);
      }
      CarriedSums a = one.take(), b = other.take();
      SumDigits left{a.digit(0), 1, a.digit_count(), a.low()};
      SumDigits right{b.digit(0), 1, b.digit_count(), b.low()};
      products.add_digits(0, left);
      products.add_product(1, left, right);
      EXPECT_TRUE(are_same(products.take(), expected.take())) << x[0] << " " << y[0];
    }
}

}  // namespace
}  // namespace simmesh
