#include "core/engine/run/fiber_checks.h"

#include <cfenv>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// Inlined, it would enlarge the frames of all ranks.
[[gnu::noinline]] void fill_stack(std::size_t bytes) {
  volatile char* frame = static_cast<volatile char*>(__builtin_alloca(bytes));
  for (std::size_t i = 0; i < bytes; ++i) frame[i] = 0;
}

// If this fails, a rank overwrites the stack of another one, and goes on with wrong values.
TEST(FiberChecks, FindAnOverflowUnderEverySchedule) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = 4,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .stack_bytes = 32 * 1024,
                   .guard_pages = false});
      Outcome outcome = world.run([](Rank& rank) {
        if (rank.id() == 2) fill_stack(48 * 1024);
        rank.yield();
      });
      ASSERT_TRUE(outcome.failure);
      EXPECT_EQ(outcome.failure->rank, 2u);
      EXPECT_THAT(outcome.failure->message, HasSubstr("overflowed its stack of 32768 bytes"));
    }
}

// If this fails, a rank that is below its stack's end begins an operation that others see.
TEST(FiberChecks, RefuseToBeginAnOperationBelowTheStack) {
  World world({.ranks = 2, .stack_bytes = 32 * 1024, .guard_pages = false});
  Outcome outcome = world.run([](Rank& rank) {
    Seat& seat = rank.run().seats()[rank.id()];
    const std::byte* end = seat.stack_end;
    seat.stack_end = static_cast<const std::byte*>(__builtin_frame_address(0)) + 4096;
    EXPECT_THROW(rank.run().begin_operation(rank, "barrier", CallSite()), std::runtime_error);
    EXPECT_THROW(rank.yield(), std::runtime_error);
    seat.stack_end = end;
    EXPECT_EQ(rank.operations(), 0u);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// If this fails, equal programs give other bits on a thread whose rounding somebody has changed.
TEST(FiberChecks, RefuseAnotherRoundingMode) {
  Outcome outcome = World({.ranks = 2}).run([](Rank& rank) {
    if (rank.id() == 1) std::fesetround(FE_UPWARD);
    rank.yield();
  });
  std::fesetround(FE_TONEAREST);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->message, HasSubstr("expected floating-point numbers to round"));
}

// If this fails, ranks that are threads, which have no stack of ours, can't run.
TEST(FiberChecks, LetRanksPassThatAreThreads) {
  Outcome outcome = World({.ranks = 2, .ranks_are_threads = true}).run([](Rank& rank) {
    fill_stack(200 * 1024);
    rank.yield();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
