#include "core/check/error.h"
#include "core/check/frames.h"
#include "core/engine/reports/crash_report.h"
#include "core/engine/run/run.h"
#include "core/engine/seats/lane.h"

namespace simmesh {

namespace {

// A handler that lets nothing through may sit in a loop around an operation.
constexpr std::uint8_t times_ended_max = 200;

}  // namespace

RankId Run::running_rank() const {
  for (const Seat& seat : seats_)
    if (seat.state == Seat::State::running) return seat.rank.id();
  return no_rank;
}

pthread_t Run::thread_of(RankId id) const {
  return id == no_rank ? lanes_.front()->thread : seating_->thread_of(seats_[id]);
}

SIMMESH_OWN_FRAME void Run::refuse_overflow(RankId id) const {
  raise(ErrorKind::runtime_error, "engine/stack",
        "rank {} overflowed its stack of {} bytes; set WorldOptions::stack_bytes to more, or keep "
        "large arrays on the heap",
        id, stacks_->stack_bytes());
}

// Where no guard page stopped the rank, its stack's gap shows it.
void Run::find_overflow(Seat& seat) {
  if (!stacks_ || !stacks_->gap_was_touched(seat.rank.id())) return;
  try {
    refuse_overflow(seat.rank.id());
  } catch (const Error&) {
    seat.exception = std::current_exception();
  }
}

SIMMESH_OWN_FRAME void Run::refuse_floating_point(RankId id) const {
  raise(ErrorKind::runtime_error, "engine/floating_point",
        "rank {}: expected floating-point numbers to round to nearest and to keep subnormal "
        "numbers, got a thread that {}; equal bits need the defaults, so undo what set this "
        "(std::fesetround, -ffast-math, _mm_setcsr) before ranks compute",
        id, FloatingPointMode::current().to_string());
}

SIMMESH_OWN_FRAME void Run::end_rank(Seat& seat) const {
  if (++seat.times_ended < times_ended_max) throw RankEnded();
  std::string reason = fmt::format(
      "began operations {} times more after its run had ended; expected `catch (...)` to throw on, "
      "so that the rank can end. The run ended because: {}",
      times_ended_max, failure_ ? failure_->message : "unknown");
  end_program({.run = *this, .rank = seat.rank.id(), .where = "engine/ended", .reason = reason});
}

}  // namespace simmesh
