#pragma once

#include <pthread.h>

namespace simmesh {

struct Seat;
class SeatedRun;

// Seats starts, suspends and resumes the ranks of one run. It is a virtual seam because not every
// program can run on a fiber: an interpreter keeps state for each thread. Turns decides who is
// next, and the run records and reports; both do the same on all seats.
class Seats {
 public:
  virtual ~Seats() = default;

  // run_all takes every seat of the run through its body, one at a time as Turns::next_seat says,
  // and returns when all have ended.
  virtual void run_all(SeatedRun& run) = 0;

  // suspend passes control to the seat that Turns::next_seat names. It returns when the caller,
  // which is the rank of the seat, is named again.
  virtual void suspend(Seat& seat) = 0;

  // start begins a seat that was added to the run while its ranks run, and that
  // Turns::make_runnable makes runnable. Raises a RuntimeError if the system gives no thread.
  virtual void start(Seat& seat) = 0;

  // thread_of returns the thread on which a rank of the run runs.
  virtual pthread_t thread_of(const Seat& seat) const = 0;
};

}  // namespace simmesh
