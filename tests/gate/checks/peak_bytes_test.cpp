#include <gtest/gtest.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

// A bound of one byte less must fail, or the check would let memory grow.
TEST(PeakBytesCheck, TheBoundIsTheMostThatPasses) {
  std::int64_t peak = testing::run_text(testing::replicated_mlp).peak_bytes;
  auto check = [](std::int64_t bytes) {
    return testing::check_of(
        testing::run_text(testing::replicated_mlp +
                          fmt::format("[expect]\npeak_bytes_max = {}\n", bytes)),
        "peak_bytes_max");
  };
  EXPECT_TRUE(check(peak).passed);
  EXPECT_FALSE(check(peak - 1).passed);
  EXPECT_EQ(check(peak - 1).actual, std::to_string(peak));
}

}  // namespace
}  // namespace simmesh
