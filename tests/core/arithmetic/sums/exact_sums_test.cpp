#include "core/arithmetic/sums/exact_sums.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/arithmetic/products/carried_product.h"
#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

struct SumsShape {
  std::int64_t outer, count, inner;
};

// Returns the oracle of sum (o, j) of terms of [outer, count, inner].
ExactOracle oracle_of(const std::vector<double>& x, const SumsShape& s, std::int64_t o,
                      std::int64_t j, SumTerm term, double mean) {
  ExactOracle oracle;
  for (std::int64_t i = 0; i < s.count; ++i) {
    double value = x[std::size_t((o * s.count + i) * s.inner + j)];
    if (term == SumTerm::square)
      oracle.add_product(value, value);
    else
      oracle.add(term == SumTerm::absolute            ? std::fabs(value)
                 : term == SumTerm::squared_deviation ? (value - mean) * (value - mean)
                                                      : value);
  }
  return oracle;
}

void expect_exact(DType dtype, TermKind kind, SumTerm term, const SumsShape& s,
                  std::mt19937_64& random) {
  std::vector<double> x =
      random_terms(dtype, kind, std::size_t(s.outer * s.count * s.inner), random);
  Tensor data = tensor_of_terms({s.outer, s.count, s.inner}, dtype, x);
  auto sums = std::size_t(s.outer * s.inner);
  std::vector<double> means(sums, 0.375), totals(sums);
  Tensor result = empty({s.outer, s.inner}, dtype), carried = empty({s.outer, s.inner}, dtype);
  for (InstructionSet set : available_instruction_sets()) {
    SumRequest request{.data = data.data(),
                       .dtype = dtype,
                       .outer = s.outer,
                       .count = s.count,
                       .inner = s.inner,
                       .term = term,
                       .means = means,
                       .totals = totals,
                       .result = result.mutable_data(),
                       .result_dtype = dtype};
    exact_sum(request, set);
    carried_sum(request, set).round(carried.mutable_data(), dtype);
    for (std::size_t at = 0; at < sums; ++at) {
      ExactOracle oracle =
          oracle_of(x, s, std::int64_t(at) / s.inner, std::int64_t(at) % s.inner, term, means[at]);
      double expected = oracle.rounded(dtype);
      EXPECT_PRED2(same_double, double_at(result, at), expected)
          << to_string(dtype) << int(kind) << int(term) << to_string(set);
      EXPECT_PRED2(same_double, totals[at], oracle.rounded(DType::float64));
    }
    EXPECT_TRUE(same_bits(result, carried)) << to_string(dtype) << int(kind) << int(term);
  }
}

// If this fails, exact sums aren't the correctly rounded sums of their terms.
TEST(ExactSums, AreThoseOfTheOracle) {
  std::mt19937_64 random(11);
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16})
    for (TermKind kind : term_kinds)
      for (SumTerm term :
           {SumTerm::identity, SumTerm::square, SumTerm::absolute, SumTerm::squared_deviation})
        for (const SumsShape& shape : {SumsShape{5, 37, 1}, SumsShape{2, 9, 19}, SumsShape{2, 3, 3},
                                       SumsShape{1, 1, 1}, SumsShape{2, 0, 3}})
          expect_exact(dtype, kind, term, shape, random);
}

// If this fails, the number of terms has a limit.
TEST(ExactSums, TakeAnyNumberOfTerms) {
  std::mt19937_64 random(12);
  for (DType dtype : {DType::float32, DType::bfloat16})
    for (TermKind kind : {TermKind::wide, TermKind::whole_range})
      for (const SumsShape& shape : {SumsShape{2, 9000, 1}, SumsShape{1, 5000, 3}})
        expect_exact(dtype, kind, SumTerm::identity, shape, random);
}

}  // namespace
}  // namespace simmesh
