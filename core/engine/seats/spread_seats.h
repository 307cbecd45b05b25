#pragma once

#include "core/engine/seats/fiber_seats.h"

namespace simmesh {

// SpreadSeats are those of a run that is spread over processes. Ranks with data and ghosts take
// turns on the thread, so each continues in its own DataMode.
class SpreadSeats final : public FiberSeats {
 public:
  using FiberSeats::FiberSeats;

  void suspend(Seat& seat) override;
};

}  // namespace simmesh
