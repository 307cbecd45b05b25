#include "core/tensor/half.h"

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

std::uint16_t bits_of(Eigen::half x) { return std::bit_cast<std::uint16_t>(x); }
std::uint16_t bits_of(Eigen::bfloat16 x) { return std::bit_cast<std::uint16_t>(x); }

std::uint32_t float_bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// All values of 16 bits, and floats around them: halves and ties between neighbours among them.
TEST(Half, ConvertsAsEigenDoes) {
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    auto bits = std::uint16_t(word);
    float half = Half::from_bits(bits), brain = BFloat16::from_bits(bits);
    EXPECT_EQ(float_bits(half), float_bits(std::bit_cast<Eigen::half>(bits))) << bits;
    EXPECT_EQ(float_bits(brain), float_bits(std::bit_cast<Eigen::bfloat16>(bits))) << bits;
    for (std::uint32_t low :
         {0u, 1u, 0x0FFFu, 0x1000u, 0x1001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      float x = std::bit_cast<float>(word << 16 | low);
      EXPECT_EQ(Half(x).bits(), bits_of(Eigen::half(x))) << float_bits(x);
      EXPECT_EQ(BFloat16(x).bits(), bits_of(Eigen::bfloat16(x))) << float_bits(x);
      if (!std::isnan(half)) {
        float near = std::bit_cast<float>(float_bits(half) ^ low);
        EXPECT_EQ(Half(near).bits(), bits_of(Eigen::half(near))) << float_bits(near);
      }
    }
  }
}

TEST(Half, ComputesInFloatAndRoundsOnce) {
  EXPECT_EQ((Half(2048) + Half(1)).bits(), Half(2048).bits());
  EXPECT_EQ((Half(2048) + Half(3)).bits(), Half(2052).bits());
  EXPECT_EQ((BFloat16(1) / BFloat16(3)).bits(), BFloat16(1.0f / 3.0f).bits());
  EXPECT_EQ((-Half(0)).bits(), 0x8000);
}

TEST(Half, KnowsItsLimits) {
  EXPECT_EQ(float(std::numeric_limits<Half>::max()), 65504.0f);
  EXPECT_EQ(float(std::numeric_limits<Half>::min()), 0x1p-14f);
  EXPECT_EQ(float(std::numeric_limits<Half>::epsilon()), 0x1p-10f);
  EXPECT_EQ(float(std::numeric_limits<BFloat16>::epsilon()), 0x1p-7f);
  EXPECT_TRUE(std::isinf(float(std::numeric_limits<BFloat16>::infinity())));
}

}  // namespace
}  // namespace simmesh
