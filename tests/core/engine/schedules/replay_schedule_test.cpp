#include <gtest/gtest.h>

#include "core/engine/schedules/schedule.h"
#include "core/engine/schedules/schedule_listener.h"

namespace simmesh {
namespace {

// If this fails, the choices of an exploration that made each access a step can't be replayed.
TEST(ReplaySchedule, SplitsStepsIfItsChoicesDo) {
  for (const char* choices : {"1,0", "split:1,0"}) {
    auto policy = Schedule::replay(choices).make_policy(2, 0);
    auto* listener = dynamic_cast<ScheduleListener*>(policy.get());
    EXPECT_EQ(listener && listener->splits_steps(), choices[0] == 's');
    policy->add(0);
    policy->add(1);
    EXPECT_EQ(policy->pick(), 1u);
    EXPECT_EQ(policy->pick(), 0u);
  }
}

}  // namespace
}  // namespace simmesh
