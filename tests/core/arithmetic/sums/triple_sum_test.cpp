#include "core/arithmetic/sums/triple_sum.h"

#include <gtest/gtest.h>

#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

constexpr DType triple_dtypes[] = {DType::float64, DType::float32, DType::bfloat16, DType::float16};

// If this fails, a sum counts as settled that isn't, or sums that fit into two doubles never do.
TEST(TripleSum, RoundsCorrectlyOrNotAtAll) {
  std::mt19937_64 random(3);
  int settled = 0, all = 0;
  for (DType dtype : triple_dtypes)
    for (TermKind kind : term_kinds)
      for (int turn = 0; turn < 300; ++turn) {
        TripleSum sum;
        ExactOracle oracle;
        for (double x : random_terms(dtype, kind, 1 + random() % 30, random)) {
          sum.add(x);
          oracle.add(x);
        }
        ++all;
        std::optional<double> rounded = sum.rounded(dtype);
        if (!rounded) continue;
        ++settled;
        ASSERT_PRED2(same_double, *rounded, oracle.rounded(dtype)) << to_string(dtype) << int(kind);
      }
  EXPECT_GT(settled, all / 2);
}

// If this fails, a sum on the middle between two floats is rounded twice.
TEST(TripleSum, PairsAreRoundedOnce) {
  EXPECT_EQ(rounded_pair(1 + 0x1p-24, 0x1p-80, DType::float32), 1 + 0x1p-23);
  EXPECT_EQ(rounded_pair(1 + 0x1p-24, -0x1p-80, DType::float32), 1);
  EXPECT_EQ(rounded_pair(1 + 0x1p-24, 0, DType::float32), 1);
  EXPECT_EQ(rounded_pair(1 + 0x1p-8, 0x1p-60, DType::bfloat16), 1 + 0x1p-7);
  EXPECT_PRED2(same_double, rounded_pair(-0.0, -0.0, DType::float64), 0.0);
}

}  // namespace
}  // namespace simmesh
