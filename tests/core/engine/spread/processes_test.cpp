#include "core/engine/spread/processes.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A caller could not tell which process has ended.
TEST(Processes, ALostOneIsNamed) {
  ProcessLost lost(2, "process 2 has ended");
  EXPECT_EQ(lost.process(), 2);
  EXPECT_STREQ(lost.what(), "process 2 has ended");
}

}  // namespace
}  // namespace simmesh
