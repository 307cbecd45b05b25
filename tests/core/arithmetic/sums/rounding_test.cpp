#include "core/arithmetic/sums/rounding.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/tensor/dtype.h"

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

}  // namespace
}  // namespace simmesh
