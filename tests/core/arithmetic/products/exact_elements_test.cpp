#include "core/arithmetic/products/exact_elements.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/core/arithmetic/exact_oracle.h"

namespace simmesh {
namespace {

// If this fails, a chain that rounded counts as exact.
TEST(ExactElements, LinesAreMeasuredToTheLastBit) {
  const double line[] = {0, -6, 0.75, 0x1p-1074, 1000};
  LineBits bits = line_bits(line);
  EXPECT_EQ(bits.lowest, -1074);
  EXPECT_EQ(bits.highest, 10);
  EXPECT_TRUE(bits.is_finite);
  const double zeros[] = {0, -0.0};
  EXPECT_EQ(line_bits(zeros).span(), 0);
  const double infinite[] = {std::numeric_limits<double>::infinity(), 1};
  EXPECT_FALSE(line_bits(infinite).is_finite);
}

// If this fails, the few elements that no bound settles are wrong.
TEST(ExactElements, AreCorrectlyRounded) {
  std::mt19937_64 random(1);
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16})
    for (TermKind kind : term_kinds) {
      std::vector<double> a = random_terms(dtype, kind, 3 * 20, random);
      std::vector<double> b = random_terms(dtype, kind, 20 * 3, random);
      Tensor left = tensor_of_terms({3, 20}, dtype, a), right = tensor_of_terms({20, 3}, dtype, b);
      Product product{.rows = 3,
                      .columns = 3,
                      .depth = 20,
                      .a = {left.data(), dtype, 20, 1},
                      .b = {right.data(), dtype, 3, 1},
                      .result_dtype = dtype};
      ExactElements elements(product);
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) {
          ExactOracle oracle;
          double chain = 0;
          for (std::size_t k = 0; k < 20; ++k) {
            oracle.add_product(a[i * 20 + k], b[k * 3 + j]);
            chain = std::fma(a[i * 20 + k], b[k * 3 + j], chain);
          }
          double expected = oracle.rounded(dtype);
          ASSERT_PRED2(same_double, elements.rounded(i, j), expected) << to_string(dtype);
          if (dtype == DType::float64) continue;
          ASSERT_PRED2(same_double, elements.rounded(i, j, chain), expected) << int(kind);
        }
    }
}

}  // namespace
}  // namespace simmesh
