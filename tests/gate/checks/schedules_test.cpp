#include <gmock/gmock.h>

#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// One schedule is the run itself, which there is nothing to compare with.
TEST(SchedulesCheck, ComparesTheDataHashOfSeveral) {
  EXPECT_EQ(testing::run_text(testing::replicated_mlp + "[expect]\nschedules = 1\n").passed(), 2);
  GateResult result = testing::run_text(testing::replicated_mlp + "[expect]\nschedules = 4\n");
  EXPECT_EQ(testing::check_of(result, "schedules").expected, "one data hash under 4 schedules");
  EXPECT_TRUE(testing::check_of(result, "schedules").passed);
  EXPECT_EQ(testing::check_of(result, "schedules").actual, "one: 1 run stands for all schedules");
}

// Who doesn't take the certificate gets the runs.
TEST(SchedulesCheck, RunsAllSchedulesWithoutACertificate) {
  GateResult result =
      testing::run_text(testing::replicated_mlp + "[expect]\nschedules = 4\ncertificate = false\n");
  EXPECT_TRUE(testing::check_of(result, "schedules").passed);
  EXPECT_EQ(testing::check_of(result, "schedules").actual, "one");
}

TEST(SchedulesCheck, RefusesNone) {
  EXPECT_THAT(testing::refusal_of("[expect]\nschedules = 0\n"), HasSubstr("from 1"));
}

}  // namespace
}  // namespace simmesh
