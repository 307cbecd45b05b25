#pragma once

#include <functional>
#include <gsl/span>
#include <memory>
#include <pthread.h>
#include <semaphore>
#include <vector>

namespace simmesh {

// SeatThread is a thread on which ranks run, one after the other in different runs. Caches that a
// program keeps for a thread are warm for the next run.
struct SeatThread {
  std::binary_semaphore turn{0};  // released to let the thread continue
  std::function<void()> job;      // done once at the begin of a turn, when there is one
  pthread_t thread = {};
  bool is_taken = false;
};

// start_seat_thread starts a thread outside of the pool, which ends after its first job. Whoever
// gives it the job keeps the result until then. Raises a RuntimeError if the system gives none.
std::shared_ptr<SeatThread> start_seat_thread();

// SeatThreads is the pool of SeatThreads. Threads are made when there are too few and never end:
// they wait for the next run, or for the end of the process. A forked child has none of its
// parent's threads and gets a pool of its own.
class SeatThreads {
 public:
  // of_process returns the pool of this process.
  static SeatThreads& of_process();

  // take returns threads that nobody else has, always the first ones that are free, so that a
  // rank of equal runs gets the same thread.
  std::vector<SeatThread*> take(std::size_t count);

  // give_back is called once the threads have done their jobs. Threads that are never given back
  // are lost to the pool.
  void give_back(gsl::span<SeatThread* const> threads);

 private:
  SeatThread& make();

  struct Guarded;
  SeatThreads();
  std::unique_ptr<Guarded> guarded_;
};

}  // namespace simmesh
