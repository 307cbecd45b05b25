#include "core/engine/run/fiber_checks.h"

#include "core/check/error.h"
#include "core/check/frames.h"

namespace simmesh {

SIMMESH_OWN_FRAME void FiberChecks::refuse_overflow(RankId id) const {
  raise(ErrorKind::runtime_error, "engine/stack",
        "rank {} overflowed its stack of {} bytes; set WorldOptions::stack_bytes to more, or keep "
        "large arrays on the heap",
        id, stacks_->stack_bytes());
}

void FiberChecks::find_overflow(Seat& seat) const {
  if (!stacks_ || !stacks_->gap_was_touched(seat.rank.id())) return;
  try {
    refuse_overflow(seat.rank.id());
  } catch (const Error&) {
    seat.exception = std::current_exception();
  }
}

SIMMESH_OWN_FRAME void FiberChecks::refuse_floating_point(RankId id) {
  raise(ErrorKind::runtime_error, "engine/floating_point",
        "rank {}: expected floating-point numbers to round to nearest and to keep subnormal "
        "numbers, got a thread that {}; equal bits need the defaults, so undo what set this "
        "(std::fesetround, -ffast-math, _mm_setcsr) before ranks compute",
        id, FloatingPointMode::current().to_string());
}

}  // namespace simmesh
