#include "core/engine/fibers/stack_arena.h"

#include <cstring>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

TEST(StackArena, StacksDoNotOverlapAndLieAboveTheirGaps) {
  for (bool guarded : {false, true})
    for (std::size_t stacks : {1, 2, 65, 100, 5000}) {
      StackArena arena({.stacks = stacks, .stack_bytes = 16384, .guarded = guarded});
      EXPECT_EQ(arena.is_guarded(), guarded && stacks <= StackArena::guarded_stacks_max);
      const std::byte* end_before = nullptr;
      for (std::size_t i = 0; i < stacks; ++i) {
        auto stack = arena.stack(i);
        EXPECT_GE(stack.size, 16384u);
        EXPECT_GT(arena.lower_end(i), end_before);
        EXPECT_EQ(static_cast<std::byte*>(stack.sp) - stack.size, arena.lower_end(i));
        EXPECT_FALSE(arena.is_in_gap(arena.lower_end(i)));
        EXPECT_TRUE(arena.is_in_gap(arena.lower_end(i) - 8192));
        end_before = static_cast<std::byte*>(stack.sp);
      }
      EXPECT_FALSE(arena.is_in_gap(end_before)) << "an address above all stacks";
      EXPECT_FALSE(arena.is_in_gap(nullptr));
    }
}

// Zeros are what the gap holds already: an overflow must be seen that changes no value.
TEST(StackArena, AGapShowsOnceThatZerosWereWrittenToIt) {
  StackArena arena({.stacks = 3, .stack_bytes = 8192, .guarded = false});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(arena.gap_was_touched(i));
  auto stack = arena.stack(1);
  std::byte* lower_end = static_cast<std::byte*>(stack.sp) - stack.size;
  std::memset(lower_end, 0, 64);
  EXPECT_FALSE(arena.gap_was_touched(1));
  for (std::ptrdiff_t below : {8192, 60'000}) {
    *static_cast<volatile char*>(static_cast<void*>(lower_end - below)) = 0;
    EXPECT_FALSE(arena.gap_was_touched(0));
    EXPECT_FALSE(arena.gap_was_touched(2));
    EXPECT_TRUE(arena.gap_was_touched(1));
    EXPECT_FALSE(arena.gap_was_touched(1));
  }
}

TEST(StackArenaDeathTest, AGuardedGapCanNotBeTouched) {
  StackArena arena({.stacks = 2, .stack_bytes = 8192});
  auto stack = arena.stack(0);
  std::byte* lower_end = static_cast<std::byte*>(stack.sp) - stack.size;
  for (std::ptrdiff_t below : {8192, 1 << 20, 60 << 20})
    EXPECT_DEATH(lower_end[-below] = std::byte(1), "");
  EXPECT_FALSE(arena.gap_was_touched(0));
}

}  // namespace
}  // namespace simmesh
