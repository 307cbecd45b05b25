#include "tools/gate_memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

GateFile gate_of_width(const std::string& width) {
  return gate_from_text(
      "[mesh]\nshape = [2]\n[model]\nkind = \"mlp\"\nwidth = " + width + "\nlayers = 2\n",
      "wide.toml");
}

// If this fails, a small gate writes to standard error, or a machine swaps where a gate should be
// refused.
TEST(GateMemoryCheck, SpeaksOfLargeGatesAndRefusesThoseThatDontFit) {
  CaptureStderr();
  expect_memory_of(gate_of_width("8"), 1);
  EXPECT_EQ(GetCapturedStderr(), "");
  testing::expect_error([] { expect_memory_of(gate_of_width("8"), std::int64_t(1) << 40); },
                        ErrorKind::value_error, "memory");
}

}  // namespace
}  // namespace simmesh
