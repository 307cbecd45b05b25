#include "replay/report/pixels.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(Pixels, HaveTwoDecimals) {
  EXPECT_EQ(pixels(1), "1.00");
  EXPECT_EQ(pixels(2.345), "2.35");
}

}  // namespace
}  // namespace simmesh::replay
