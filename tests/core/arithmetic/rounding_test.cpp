#include <cmath>
#include <gtest/gtest.h>

#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/tensor/formula.h>

namespace simmesh {
namespace {

// If this fails, widening an element changes its value.
TEST(Rounding, WidenedIsExact) {
  EXPECT_EQ(widened(0.1), 0.1);
  EXPECT_EQ(widened(0.1f), double(0.1f));
  EXPECT_EQ(widened(Half(-1.5)), -1.5);
  EXPECT_EQ(widened(std::bit_cast<BFloat16>(std::uint16_t(1))), 0x1p-133);
  EXPECT_TRUE(std::isnan(widened(std::nanf(""))));
}

// The correctly rounded float of an integer: the compiler's own conversion.
void expect_rounds_like_the_integer(std::int64_t k) {
  EXPECT_EQ(static_cast<float>(odd_double(k)), static_cast<float>(k)) << k;
  EXPECT_EQ(static_cast<float>(odd_double(-k)), static_cast<float>(-k)) << -k;
}

// If this fails, a sum of grid steps is rounded twice on its way to float32.
TEST(Rounding, OddDoubleRoundsToFloatLikeTheInteger) {
  for (int bit = 0; bit <= 62; ++bit) {
    std::int64_t power = std::int64_t(1) << bit;
    for (std::int64_t off : {-2, -1, 0, 1, 2}) expect_rounds_like_the_integer(power + off);
    if (bit < 26) continue;
    // Around every kind of tie: half a unit of the last bit of float, and one step beside it.
    std::int64_t half = power >> 24;
    for (std::int64_t units : {1, 3, 5})
      for (std::int64_t off : {-1, 0, 1})
        expect_rounds_like_the_integer(power + units * half + off);
  }
  for (std::uint64_t i = 0; i < 20000; ++i)
    expect_rounds_like_the_integer(std::int64_t(formula_word(1, i) >> (1 + i % 40)));
}

// If this fails, integers that a double holds come out changed.
TEST(Rounding, OddDoubleIsExactUpTo52Bits) {
  std::int64_t most = std::int64_t(1) << 52;
  for (std::int64_t k : {std::int64_t(0), std::int64_t(1), most - 1, most, -most})
    EXPECT_EQ(std::int64_t(odd_double(k)), k);
}

}  // namespace
}  // namespace simmesh
