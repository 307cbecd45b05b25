#include "core/engine/seats/seat_threads.h"

#include <csignal>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/check/blocked_signals.h"
#include "core/check/start_threads.h"

namespace simmesh {

namespace {

void do_job(SeatThread& seat) {
  seat.turn.acquire();
  std::function<void()> job;
  job.swap(seat.job);
  job();
}

// Signals are for the program's own threads.
pthread_t start_detached(std::function<void()> body) {
  BlockedSignals blocked({SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGURG});
  std::thread thread = start_thread("engine/world", std::move(body));
  pthread_t handle = thread.native_handle();
  thread.detach();
  return handle;
}

}  // namespace

std::shared_ptr<SeatThread> start_seat_thread() {
  auto made = std::make_shared<SeatThread>();
  made->thread = start_detached([made] { do_job(*made); });
  return made;
}

struct SeatThreads::Guarded {
  std::mutex mutex;
  std::vector<std::unique_ptr<SeatThread>> threads;
};

SeatThreads::SeatThreads() : guarded_(std::make_unique<Guarded>()) {}

// Never destroyed: its threads outlive the end of main.
SeatThreads& SeatThreads::of_process() {
  static std::mutex mutex;
  static SeatThreads* current = nullptr;
  static pid_t owner = 0;
  std::lock_guard lock(mutex);
  if (!current || owner != getpid()) {
    current = new SeatThreads();
    owner = getpid();
  }
  return *current;
}

SeatThread& SeatThreads::make() {
  auto made = std::make_unique<SeatThread>();
  made->thread = start_detached([seat = made.get()] {
    for (;;) do_job(*seat);
  });
  guarded_->threads.push_back(std::move(made));
  return *guarded_->threads.back();
}

std::vector<SeatThread*> SeatThreads::take(std::size_t count) {
  std::lock_guard lock(guarded_->mutex);
  std::vector<SeatThread*> taken;
  for (auto& thread : guarded_->threads) {
    if (taken.size() == count) break;
    if (!thread->is_taken) taken.push_back(thread.get());
  }
  while (taken.size() < count) taken.push_back(&make());
  for (SeatThread* thread : taken) thread->is_taken = true;
  return taken;
}

void SeatThreads::give_back(gsl::span<SeatThread* const> threads) {
  std::lock_guard lock(guarded_->mutex);
  for (SeatThread* thread : threads) thread->is_taken = false;
}

}  // namespace simmesh
