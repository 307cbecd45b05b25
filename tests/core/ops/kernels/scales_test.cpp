#include "core/ops/kernels/scales.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If this fails, addmm scales the product by what is meant for the addend.
TEST(Scales, AreOneWhereAnOpIsNotGivenThem) {
  Scales given = scales_of({attribute::alpha = 3.0, attribute::beta = 0.5});
  EXPECT_EQ(given.alpha, 3);
  EXPECT_EQ(given.beta, 0.5);
  EXPECT_EQ(scales_of({}).alpha, 1);
  EXPECT_EQ(scales_of({}).beta, 1);
}

}  // namespace
}  // namespace simmesh
