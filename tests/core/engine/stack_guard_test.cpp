#include "core/engine/stack_guard.h"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <gtest/gtest.h>

#include "core/engine/world.h"

// Under a sanitizer no handler is installed: the sanitizer reports such accesses itself.
#if !defined(SIMMESH_ASAN) && !defined(SIMMESH_TSAN)

namespace simmesh {
namespace {

constexpr std::ptrdiff_t page_bytes = 4096;
constexpr std::ptrdiff_t red_zone_bytes = 16 * page_bytes;

// A place in a stack's guard page, or in the page that many pages below it. Small worlds have a
// page more below a stack, less what it is staggered by.
volatile char* guard_page(const StackArena& arena, std::size_t stack, std::ptrdiff_t page) {
  const std::byte* at =
      arena.lower_end(stack) - red_zone_bytes - (page + 1) * page_bytes + page_bytes / 2;
  return const_cast<volatile char*>(reinterpret_cast<const volatile char*>(at));
}

StackArena::Options three_stacks() {
  return {.stacks = 3, .stack_bytes = 8192, .guard_pages = true};
}

TEST(StackGuard, AStackThatReachesItsGuardPageGoesOnAndIsFoundOnce) {
  StackArena arena(three_stacks());
  StackGuard guard(arena);
  guard.enter(1);
  *guard_page(arena, 1, 0) = 7;
  EXPECT_EQ(*guard_page(arena, 1, 0), 7);
  EXPECT_FALSE(arena.canary(0).overflowed());
  EXPECT_FALSE(arena.canary(2).overflowed());
  EXPECT_TRUE(arena.canary(1).overflowed());
  EXPECT_FALSE(arena.canary(1).overflowed());
}

TEST(StackGuard, TheInnermostGuardActsAndGivesBackToTheOuterOne) {
  StackArena outer(three_stacks()), inner(three_stacks());
  StackGuard outer_guard(outer);
  outer_guard.enter(0);
  {
    StackGuard guard(inner);
    guard.enter(2);
    *guard_page(inner, 2, 0) = 1;
  }
  *guard_page(outer, 0, 0) = 1;
  EXPECT_TRUE(inner.canary(2).overflowed());
  EXPECT_TRUE(outer.canary(0).overflowed());
}

TEST(StackGuard, PagesAreShutAgainForTheNextRun) {
  StackArena arena(three_stacks());
  StackGuard guard(arena);
  guard.enter(1);
  for (int run = 0; run < 2; ++run) {
    *guard_page(arena, 1, 0) = 1;
    EXPECT_TRUE(arena.canary(1).overflowed());
    arena.close_guard_pages();
  }
}

// Without the lower page a recursion that never ends would go on into another rank's stack.
TEST(StackGuardDeathTest, TheLowerPageStaysShut) {
  StackArena arena(three_stacks());
  StackGuard guard(arena);
  guard.enter(1);
  *guard_page(arena, 1, 0) = 1;
  EXPECT_EXIT(*guard_page(arena, 1, 1) = 1, testing::KilledBySignal(SIGSEGV), "");
}

TEST(StackGuardDeathTest, AnotherStacksPageStaysShut) {
  StackArena arena(three_stacks());
  StackGuard guard(arena);
  guard.enter(1);
  EXPECT_EXIT(*guard_page(arena, 2, 0) = 1, testing::KilledBySignal(SIGSEGV), "");
  guard.leave();
  EXPECT_EXIT(*guard_page(arena, 1, 0) = 1, testing::KilledBySignal(SIGSEGV), "");
}

// The handler is installed once a process, so the one before it is set in a process of its own.
TEST(StackGuardDeathTest, AnAddressThatIsNoGuardPageGoesToTheHandlerBefore) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto fault_elsewhere = [] {
    std::signal(SIGSEGV, [](int) { std::_Exit(42); });
    StackArena arena(three_stacks());
    StackGuard guard(arena);
    guard.enter(0);
    *guard_page(arena, 2, 0) = 1;
  };
  EXPECT_EXIT(fault_elsewhere(), testing::ExitedWithCode(42), "");
}

#ifndef NDEBUG

// Touches a byte `bytes` below its caller's frame, as a large array does, and nothing in between.
[[gnu::noinline]] void jump(std::ptrdiff_t bytes) {
  auto* frame = static_cast<volatile char*>(__builtin_frame_address(0));
  frame[-bytes] = 1;
}

// Every run of a world reports it, with any number of threads.
TEST(StackGuard, AWorldReportsAJumpOverTheCanary) {
  constexpr std::ptrdiff_t stack_bytes = 16384;
  for (std::size_t threads : {1, 2}) {
    World world({.ranks = 3, .threads = threads, .stack_bytes = stack_bytes});
    for (int run = 0; run < 2; ++run) {
      Outcome outcome = world.run([](Rank& rank) {
        // Rank 1's stack is staggered by 256 bytes, and the frames above take less than 3 KiB, so
        // this lands in the guard page.
        if (rank.id() == 1) jump(stack_bytes + red_zone_bytes - 256 + 1024);
      });
      ASSERT_TRUE(outcome.failure);
      EXPECT_EQ(outcome.failure->rank, 1u);
    }
  }
}

#endif

}  // namespace
}  // namespace simmesh

#endif
