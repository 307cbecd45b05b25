#include "core/check/floating_point.h"

#include <cfenv>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

struct Defaults {
  ~Defaults() { std::fesetenv(FE_DFL_ENV); }
};

TEST(FloatingPointMode, NamesWhatIsNotTheDefault) {
  Defaults afterwards;
  EXPECT_TRUE(FloatingPointMode::current().is_default());
  std::fesetround(FE_UPWARD);
  EXPECT_EQ(FloatingPointMode::current().to_string(), "rounds upward");
  std::fesetround(FE_DOWNWARD);
  EXPECT_EQ(FloatingPointMode::current().to_string(), "rounds downward");
  std::fesetround(FE_TOWARDZERO);
  EXPECT_FALSE(FloatingPointMode::current().is_default());
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(FloatingPointMode::current().is_default());
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
  EXPECT_EQ(FloatingPointMode::current().to_string(),
            "flushes subnormal results to zero, reads subnormal operands as zero");
#endif
}

Outcome run_with(const char* schedule, std::size_t threads,
                 const std::function<void(Rank&)>& body) {
  World world({.ranks = 3, .schedule = Schedule::parse(schedule), .threads = threads});
  return world.run(body);
}

// If this fails, a rank computes other bits than the same program elsewhere, and nobody says so.
TEST(FloatingPointMode, ARankThatLeavesTheDefaultFailsWhenItGivesUpItsTurnOrReturns) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2})
      for (bool goes_on : {false, true}) {
        Outcome outcome = run_with(schedule, threads, [&](Rank& rank) {
          if (rank.id() == 1) std::fesetround(FE_UPWARD);
          if (goes_on) rank.yield();
        });
        ASSERT_TRUE(outcome.failure);
        EXPECT_EQ(outcome.failure->rank, 1u) << "the mode of one rank reached another";
        EXPECT_THAT(outcome.failure->message, HasSubstr("got a thread that rounds upward"));
        EXPECT_TRUE(FloatingPointMode::current().is_default());
      }
}

TEST(FloatingPointMode, AProgramThatLeftTheDefaultCanNotStart) {
  Defaults afterwards;
  std::fesetround(FE_TOWARDZERO);
  Outcome outcome = run_with("fifo", 1, [](Rank&) {});
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->message, HasSubstr("rounds toward zero"));
}

}  // namespace
}  // namespace simmesh
