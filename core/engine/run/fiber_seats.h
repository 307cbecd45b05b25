#pragma once

#include "core/engine/seats/seats.h"

namespace simmesh {

// FiberSeats gives every rank a fiber of the thread, or of one of the threads, that runs the World.
class FiberSeats final : public Seats {
 public:
  void run_all(Run& run, const std::function<void(Rank&)>& body) override;
  void suspend(Seat& seat) override;
  pthread_t thread_of(const Seat& seat) const override;
};

}  // namespace simmesh
