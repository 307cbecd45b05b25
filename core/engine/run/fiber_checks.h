#pragma once

#include "core/check/floating_point.h"
#include "core/engine/fibers/stack_arena.h"
#include "core/engine/seats/seat.h"

namespace simmesh {

// FiberChecks finds two mistakes of a rank that would corrupt results without a sign: a stack that
// overflows, and a floating-point mode in which equal programs give other bits.
class FiberChecks {
 public:
  // The stacks are those of the seats' fibers; null where ranks are threads.
  explicit FiberChecks(StackArena* stacks) : stacks_(stacks) {}

  // check raises a RuntimeError if the caller, the rank of the seat, is below the end of its stack,
  // or if its thread doesn't compute in the default floating-point mode.
  void check(const Seat& seat) const {
    if (__builtin_frame_address(0) < static_cast<const void*>(seat.stack_end)) [[unlikely]]
      refuse_overflow(seat.rank.id());
    if (!FloatingPointMode::current().is_default()) [[unlikely]]
      refuse_floating_point(seat.rank.id());
  }

  // find_overflow gives the seat an exception if the gap below its stack was written to, which only
  // stacks without guard pages allow.
  void find_overflow(Seat& seat) const;

 private:
  [[noreturn]] void refuse_overflow(RankId id) const;
  [[noreturn]] static void refuse_floating_point(RankId id);

  StackArena* stacks_;
};

}  // namespace simmesh
