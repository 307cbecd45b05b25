#include "core/engine/reports/watchdog.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/check/blocked_signals.h"
#include "core/check/start_threads.h"
#include "core/engine/reports/crash_report.h"
#include "core/engine/reports/interrupt.h"
#include "core/engine/reports/reported_run.h"

namespace simmesh {

using Seconds = std::chrono::duration<double>;

namespace {

constexpr Seconds tick_length(0.05);
constexpr Seconds interrupted_max(1.0);

// Filled by a signal's handler on the thread that is asked.
StackTrace asked_trace;
std::atomic<bool> asked_trace_is_there = false;

void answer(int, siginfo_t*, void* context) {
  asked_trace = StackTrace::of_signal(context);
  asked_trace_is_there = true;
}

// Returns the calls of another thread; none if it doesn't answer.
StackTrace trace_of(pthread_t thread) {
  struct sigaction action = {};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGURG, &action, nullptr) != 0 || pthread_kill(thread, SIGURG) != 0) return {};
  for (int wait = 0; wait < 200 && !asked_trace_is_there; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return asked_trace_is_there ? asked_trace : StackTrace();
}

}  // namespace

// WatchdogThread is the thread that looks at all runs of the process. A forked child has none of
// its parent's threads, so it gets one of its own.
class WatchdogThread {
 public:
  static WatchdogThread& of_process() {
    static std::mutex mutex;
    static WatchdogThread* current = nullptr;
    static pid_t owner = 0;
    std::lock_guard lock(mutex);
    if (!current || owner != getpid()) {
      current = new WatchdogThread();
      owner = getpid();
    }
    return *current;
  }

  void add(Watchdog& watchdog) {
    std::lock_guard lock(mutex_);
    watchdogs_.push_back(&watchdog);
    if (watchdog.outer_) ++watchdog.outer_->inner_;
    changed_.notify_one();
  }

  void remove(Watchdog& watchdog) {
    std::lock_guard lock(mutex_);
    auto found = std::find(watchdogs_.begin(), watchdogs_.end(), &watchdog);
    // The thread of a forked child doesn't know a run that its parent had begun.
    if (found == watchdogs_.end()) return;
    watchdogs_.erase(found);
    if (watchdog.outer_) --watchdog.outer_->inner_;
  }

 private:
  // Never ends: it must outlive every World, also those in static objects.
  WatchdogThread() {
    BlockedSignals blocked;
    start_thread("engine/watchdog", [this] { look(); }).detach();
  }

  [[noreturn]] void look() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !watchdogs_.empty(); });
      changed_.wait_for(lock, tick_length, [] { return false; });
      // However late this thread runs again, as after a debugger's stop, the others had little
      // time.
      for (Watchdog* watchdog : watchdogs_) watchdog->tick(tick_length);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watchdog*> watchdogs_;
};

Watchdog::Watchdog(const ReportedRun& run, Seconds timeout, Watchdog* outer)
    : run_(run), timeout_(timeout), outer_(outer) {
  if (outer_ && timeout_.count() <= 0) timeout_ = outer_->timeout_;
  WatchdogThread::of_process().add(*this);
}

Watchdog::~Watchdog() { WatchdogThread::of_process().remove(*this); }

bool Watchdog::is_needed(Seconds timeout) {
  return timeout.count() > 0 || Interrupt::is_on_sigint();
}

void Watchdog::tick(Seconds time) {
  std::uint64_t step = run_.progress();
  if (inner_ > 0 || step != step_) {
    step_ = step;
    stands_for_ = Seconds(0);
    return;
  }
  stands_for_ += time;
  if (Interrupt::requested() && stands_for_ >= interrupted_max)
    report("engine/interrupt", "did not give up its turn after the interrupt",
           Interrupt::exit_status);
  if (timeout_.count() > 0 && stands_for_ >= timeout_)
    report("engine/timeout",
           fmt::format("has not given up its turn for {} s of wall time", timeout_.count()),
           crash_status);
}

void Watchdog::report(std::string_view where, std::string_view what, int status) const {
  RankId rank = run_.running_rank();
  StackTrace trace = trace_of(run_.thread_of(rank));
  if (rank == no_rank) what = "no rank has the turn, and none is given it";
  report_crash({.run = run_, .rank = rank, .where = where, .reason = what}, trace);
  std::_Exit(status);
}

}  // namespace simmesh
