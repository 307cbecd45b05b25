#include <gtest/gtest.h>

#include "core/engine/schedules/schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// If this fails, the command doesn't know a schedule that the pages name.
TEST(ParseSchedule, ReadsTheNameOfASchedule) {
  for (const char* text : {"fifo", "seeded", "seeded:3", "pct:2", "pos", "pos:3", "walk",
                           "walk:6,5", "choices:0,1*2", "choices:split:0,1*2", "guided:2,0"})
    EXPECT_EQ(Schedule::parse(text).name(), text);
  for (const char* text : {"pos:x", "walk:6,x", "walk:-1", "pct:0", "best", "choices:split:x"})
    testing::expect_error([&] { Schedule::parse(text); }, ErrorKind::value_error);
}

}  // namespace
}  // namespace simmesh
