#include "core/engine/spread/processes.h"

#include <gtest/gtest.h>

#include "tests/core/engine/spread/silent_processes.h"

namespace simmesh {
namespace {

// A caller could not tell which process has ended.
TEST(Processes, ALostOneIsNamed) {
  ProcessLost lost(2, "process 2 has ended");
  EXPECT_EQ(lost.process(), 2);
  EXPECT_STREQ(lost.what(), "process 2 has ended");
}

// A process would send itself what it tells all.
TEST(Processes, TheOthersAreAllButThisOne) {
  EXPECT_EQ(SilentProcesses().others(), (std::vector<int>{0, 2}));
}

}  // namespace
}  // namespace simmesh
