#include "core/engine/seats/fiber_seats.h"

#include <boost/fiber/context.hpp>

#include "core/check/check.h"
#include "core/engine/seats/lane.h"
#include "core/engine/seats/worker.h"

namespace simmesh {

void FiberSeats::run_all(SeatedRun& run) { Worker::run_all(run, stacks_); }

void FiberSeats::suspend(Seat& seat) {
  Lane& lane = *seat.lane;
  SavedExceptions exceptions(*lane.exceptions);
  auto frame = static_cast<const std::byte*>(__builtin_frame_address(0));
  seat.suspended_at = std::uint32_t(frame - seat.stack_end);
  lane.suspends = true;
  seat.context->suspend();
  lane.arrived(seat);
}

void FiberSeats::start(Seat& seat) {
  SIMMESH_CHECK(false, "rank {} is on a fiber, but starts a thread", seat.rank.id());
}

pthread_t FiberSeats::thread_of(const Seat& seat) const { return seat.lane->thread; }

}  // namespace simmesh
