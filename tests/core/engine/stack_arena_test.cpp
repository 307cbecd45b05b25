#include "core/engine/stack_arena.h"

#include <cstring>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

TEST(StackArena, StacksDoNotOverlapAndLieAboveTheirRedZones) {
  for (std::size_t stacks : {1, 2, 100, 5000}) {
    StackArena arena({.stacks = stacks, .stack_bytes = 16384});
    const std::byte* end_before = nullptr;
    for (std::size_t i = 0; i < stacks; ++i) {
      auto stack = arena.stack(i);
      EXPECT_GE(stack.size, 16384u);
      EXPECT_GT(arena.lower_end(i), end_before);
      EXPECT_EQ(static_cast<std::byte*>(stack.sp) - stack.size, arena.lower_end(i));
      end_before = static_cast<std::byte*>(stack.sp);
    }
  }
}

TEST(StackArena, TheCanaryFiresOnceAndOnlyForItsStack) {
  StackArena arena({.stacks = 3, .stack_bytes = 8192});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(arena.canary(i).overflowed());
  auto stack = arena.stack(1);
  std::byte* lower_end = static_cast<std::byte*>(stack.sp) - stack.size;
  std::memset(lower_end, 1, 64);
  EXPECT_FALSE(arena.canary(1).overflowed());
  std::memset(lower_end - 8, 1, 8);
  EXPECT_FALSE(arena.canary(0).overflowed());
  EXPECT_FALSE(arena.canary(2).overflowed());
  EXPECT_TRUE(arena.canary(1).overflowed());
  EXPECT_FALSE(arena.canary(1).overflowed());
}

TEST(StackArenaDeathTest, GuardPagesStopWhatLeavesTheRedZone) {
  StackArena arena({.stacks = 2, .stack_bytes = 8192, .guard_pages = true});
  auto stack = arena.stack(0);
  std::byte* lower_end = static_cast<std::byte*>(stack.sp) - stack.size;
  lower_end[-60'000] = std::byte(1);
  EXPECT_DEATH(lower_end[-66'000] = std::byte(1), "");
}

}  // namespace
}  // namespace simmesh
