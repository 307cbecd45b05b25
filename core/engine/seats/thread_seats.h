#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/engine/seats/seat_threads.h"
#include "core/engine/seats/seats.h"
#include "core/engine/seats/thread_host.h"
#include "core/engine/seats/turn_processor.h"

namespace simmesh {

// ThreadSeats gives every rank a thread of the process's pool. One of them runs at a time: it
// passes the turn on when it is suspended or ends. The thread that called World::run waits, and
// asks the host now and then if it should continue.
class ThreadSeats final : public Seats {
 public:
  // Without a host nobody is asked.
  explicit ThreadSeats(ThreadHost* host) : host_(host) {}

  // Raises a RunGivenUp if the host gives up the run. The run and this object must then stay where
  // they are until the process ends.
  void run_all(SeatedRun& run) override;
  void suspend(Seat& seat) override;
  // start gives the seat a new thread, whose state is fresh, as that of a program's thread is.
  void start(Seat& seat) override;
  pthread_t thread_of(const Seat& seat) const override;

 private:
  std::size_t count_run() const;
  void sit(Seat& seat);
  void pass_turn(Seat* next);
  void drive();
  void wait_for_root();
  void ask_host();

  ThreadHost* host_;
  SeatedRun* run_ = nullptr;
  TurnProcessor processor_;
  std::vector<SeatThread*> threads_;                  // by seat
  std::vector<std::shared_ptr<SeatThread>> started_;  // kept, since the host may look at them
  std::mutex mutex_;
  std::condition_variable changed_;
  bool root_has_turn_ = false;  // under the mutex
  std::size_t leaving_ = 0;     // threads whose rank hasn't ended, under the mutex
  std::atomic<bool> given_up_ = false;
  std::uint64_t progress_seen_ = 0;
  std::chrono::duration<double> stands_for_{0};
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace simmesh
