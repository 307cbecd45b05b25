#include "core/arithmetic/sums/wide_rounding.h"

#include <gtest/gtest.h>
#include <limits>

namespace simmesh {
namespace {

// The compiler's conversions round 64-bit integers once; ours must agree around every bit width.
TEST(WideRounding, IntegersConvertLikeTheCompilers) {
  for (int shift = 0; shift < 63; ++shift)
    for (std::int64_t near = -3; near <= 3; ++near)
      for (std::int64_t sign : {1, -1}) {
        std::int64_t k =
            sign * ((std::int64_t(1) << shift) + near * (shift > 40 ? 1 << (shift - 40) : 1));
        EXPECT_EQ(rounded_quotient({.numerator = k}, DType::float64), double(k)) << k;
        EXPECT_EQ(rounded_quotient({.numerator = k}, DType::float32), double(float(k))) << k;
      }
}

TEST(WideRounding, QuotientsAreRoundedOnce) {
  for (std::int64_t n = 1; n < 300; ++n)
    for (std::int64_t d = 1; d < 60; ++d) {
      EXPECT_EQ(rounded_quotient({.numerator = -n, .divisor = d}, DType::float64),
                -double(n) / double(d));
      EXPECT_EQ(rounded_quotient({.numerator = n, .divisor = d}, DType::float32),
                double(float(n) / float(d)));
    }
}

TEST(WideRounding, SubnormalsAndOverflow) {
  auto power = [](int e, DType dtype) {
    return rounded_quotient({.numerator = 1, .exponent = e}, dtype);
  };
  EXPECT_EQ(power(-1074, DType::float64), 0x1p-1074);
  EXPECT_EQ(power(-1075, DType::float64), 0);  // a tie, to even
  EXPECT_EQ(rounded_quotient({.numerator = 3, .exponent = -1076}, DType::float64), 0x1p-1074);
  EXPECT_EQ(power(-2000, DType::float64), 0);
  EXPECT_EQ(power(-149, DType::float32), 0x1p-149);
  EXPECT_EQ(power(-24, DType::float16), 0x1p-24);
  EXPECT_EQ(power(-133, DType::bfloat16), 0x1p-133);
  EXPECT_EQ(power(128, DType::float32), std::numeric_limits<double>::infinity());
  EXPECT_EQ(rounded_quotient({.numerator = 65519}, DType::float16), 65504);
  EXPECT_EQ(rounded_quotient({.numerator = 65520}, DType::float16),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace simmesh
