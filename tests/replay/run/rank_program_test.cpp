#include "replay/run/rank_program.h"

#include <gtest/gtest.h>

namespace simmesh::replay {

namespace {

// Would fail if what does nothing on a device took the time of a launch, or work took less.
TEST(RankProgram, OperatorsTakeTheTimeOfTheirWork) {
  DeviceModel model{.launch_us = 3, .memory_gb_s = 1, .teraflops = 1};
  ProgramStep step;
  EXPECT_EQ(operator_us(step, model), 0);
  step.work = {.device_bytes = 0x1p30};
  EXPECT_EQ(operator_us(step, model), 3 + 1e6);
  step.work = {.operations = 2e12};
  EXPECT_EQ(operator_us(step, model), 3 + 2e6);
}

}  // namespace

}  // namespace simmesh::replay
