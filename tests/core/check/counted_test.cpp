#include "core/check/counted.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

TEST(Counted, PutsOneInTheSingular) {
  EXPECT_EQ(counted(0, "other value"), "0 other values");
  EXPECT_EQ(counted(1, "other value"), "1 other value");
  EXPECT_EQ(counted(2, "other value"), "2 other values");
}

}  // namespace
}  // namespace simmesh
