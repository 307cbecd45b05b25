#include "core/arithmetic/sums/carried_sums.h"

#include <gtest/gtest.h>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/scaled_sums.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

constexpr DType carried_sums_dtypes[] = {DType::float64, DType::float32, DType::bfloat16,
                                         DType::float16};

// If this fails, a value changes when it is carried and rounded.
TEST(CarriedSums, OfOneTermAreTheTerm) {
  std::mt19937_64 random(51);
  for (DType dtype : carried_sums_dtypes)
    for (TermKind kind : term_kinds) {
      if (kind == TermKind::special) continue;
      std::vector<double> terms = random_terms(dtype, kind, 100, random);
      for (double& x : terms) x += 0.0;  // a sum of zero is +0
      Tensor data = tensor_of_terms({100}, dtype, terms), back = empty({100}, dtype);
      CarriedSums sums = carried_terms(data.data(), dtype, 100);
      sums.round(back.mutable_data(), dtype);
      EXPECT_TRUE(same_bits(back, data)) << to_string(dtype) << int(kind);
      CarriedSums part = sums.slice({.begin = 10, .count = 5});
      const std::int64_t indices[] = {14, 10};
      CarriedSums taken = sums.taken(indices);
      EXPECT_EQ(part.rounded(4, dtype), double_at(data, 14));
      EXPECT_EQ(taken.rounded(0, dtype), double_at(data, 14));
    }
}

// If this fails, sums are rounded twice, or wrongly, when they are divided.
TEST(CarriedSums, AreRoundedOnceOverADivisor) {
  std::mt19937_64 random(52);
  for (DType dtype : carried_sums_dtypes)
    for (TermKind kind : term_kinds)
      for (std::int64_t divisor : {1, 2, 3, 6, 7, 1000003}) {
        constexpr std::int64_t count = 20;
        std::vector<ExactOracle> oracles(count);
        DigitSums sums(count, DigitRange::whole());
        for (int term = 0; term < 4; ++term) {
          std::vector<double> terms = random_terms(dtype, kind, count, random);
          for (std::int64_t i = 0; i < count; ++i) {
            sums.add(i, terms[std::size_t(i)]);
            oracles[std::size_t(i)].add(terms[std::size_t(i)]);
          }
        }
        CarriedSums quotients = divided(sums.take(), double(divisor));
        Tensor rounded = empty({count}, dtype);
        quotients.round(rounded.mutable_data(), dtype);
        for (std::int64_t i = 0; i < count; ++i) {
          double expected = oracles[std::size_t(i)].rounded(dtype, divisor);
          ASSERT_PRED2(same_double, quotients.rounded(i, dtype), expected)
              << to_string(dtype) << int(kind) << " over " << divisor;
          ASSERT_PRED2(same_double, double_at(rounded, std::size_t(i)), expected);
        }
      }
}

}  // namespace
}  // namespace simmesh
