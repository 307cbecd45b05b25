#include "core/arithmetic/sums/digit_sums.h"

#include <algorithm>
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

}  // namespace
}  // namespace simmesh
