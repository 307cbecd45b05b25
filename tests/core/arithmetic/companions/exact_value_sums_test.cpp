#include "core/arithmetic/companions/exact_value_sums.h"

#include <gtest/gtest.h>

#include "tests/core/arithmetic/companions/exact_cases.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// Numbers, their squares and thirds: plain, in pairs and in digits.
ExactValues mixed_values() {
  std::vector<double> numbers;
  for (double x : small_numbers())
    if (std::fabs(x) < 1e20 && (x == 0 || std::fabs(x) > 1e-40)) numbers.push_back(x);
  ExactValues plain = ExactValues::of_doubles(numbers);
  ExactValues cubes = plain.times(plain).times(plain);
  const ExactValues parts[] = {plain, plain.times(plain), cubes, cubes.divided(3).plus(plain)};
  return ExactValues::joined(parts);
}

// If this fails, a term is left out, counted twice or rounded.
TEST(ExactValueSums, SumsOverADimAreExact) {
  ExactValues values = mixed_values();
  std::int64_t all = values.count();
  ASSERT_EQ(all % 4, 0);
  for (const SumDims& dims : {SumDims{1, all, 1}, SumDims{4, all / 4, 1}, SumDims{1, 4, all / 4},
                              SumDims{all, 1, 1}, SumDims{2, all / 4, 2}, SumDims{1, 1, all}}) {
    ExactValues sums = values.summed(dims);
    ASSERT_EQ(sums.count(), dims.outer * dims.inner);
    for (std::int64_t o = 0; o < dims.outer; ++o)
      for (std::int64_t i = 0; i < dims.inner; ++i) {
        Rational sum = 0;
        for (std::int64_t c = 0; c < dims.count; ++c)
          sum += rational(values, (o * dims.count + c) * dims.inner + i);
        ASSERT_EQ(rational(sums, o * dims.inner + i), sum);
      }
  }
  testing::expect_error([&] { values.summed({.outer = 3, .count = all, .inner = 1}); },
                        ErrorKind::value_error, "expected dims of");
}

// If this fails, an indexed sum takes another value, or one that is dropped.
TEST(ExactValueSums, IndexedSumsAreExact) {
  ExactValues values = mixed_values();
  std::vector<std::int64_t> index;
  std::vector<Rational> sums(6);
  for (std::int64_t i = 0; i < values.count(); ++i) {
    index.push_back(i * 5 % 7 - 1);
    if (index.back() >= 0) sums[std::size_t(index.back())] += rational(values, i);
  }
  ExactValues found = values.summed_at(index, 6);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(rational(found, i), sums[std::size_t(i)]);
  testing::expect_error([&] { values.summed_at(index, 5); }, ErrorKind::index_error,
                        "expected an index below 5, or -1, got 5");
  index.pop_back();
  testing::expect_error([&] { values.summed_at(index, 6); }, ErrorKind::value_error,
                        "indices, got");
}

}  // namespace
}  // namespace simmesh
