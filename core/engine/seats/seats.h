#pragma once

#include <functional>
#include <pthread.h>

namespace simmesh {

class Rank;
class Run;
struct Seat;

// Seats is how the ranks of a run are started, suspended and resumed. It is a virtual seam because
// not every program can run on a fiber: an interpreter keeps what it must know of a program for
// each thread. Who goes next, and what is recorded and reported, is the Run's business and the same
// on all seats.
class Seats {
 public:
  virtual ~Seats() = default;

  // run_all lets every rank of the run, which has started, and every deputy go through its body,
  // one after the other as Run::next_seat says, and returns when all have ended.
  virtual void run_all(Run& run, const std::function<void(Rank&)>& body) = 0;

  // suspend gives control to the seat that Run::next_seat names, and returns when that is the
  // caller's again. The caller is the rank of the seat, which runs.
  virtual void suspend(Seat& seat) = 0;

  // thread_of returns the thread that a rank of the run runs on.
  virtual pthread_t thread_of(const Seat& seat) const = 0;
};

}  // namespace simmesh
