#include "core/engine/seats/thread_seats.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/engine/reports/crash_report.h"
#include "core/engine/seats/forked_child.h"
#include "core/engine/seats/lane.h"
#include "core/engine/seats/seated_run.h"
#include "core/memory/data_mode.h"

namespace simmesh {

namespace {

constexpr std::chrono::duration<double> look_interval(0.02);
// However late the host is asked again, as after a debugger's stop, the rank had little time. A
// look may take longer than the interval, where the host waits for the rank's interpreter lock.
constexpr std::chrono::duration<double> counted_max(0.5);

// Keeps a thread of a run that was given up.
[[noreturn]] void stay() {
  for (;;) pause();
}

}  // namespace

void ThreadSeats::run_all(SeatedRun& run) {
  run_ = &run;
  asked_ = std::chrono::steady_clock::now();
  run.turns().lane(0).thread = pthread_self();
  threads_.assign(run.seats().capacity(), nullptr);
  std::vector<SeatThread*> taken = SeatThreads::of_process().take(count_run());
  leaving_ = taken.size();
  auto thread = taken.begin();
  for (Seat& seat : run.seats()) {
    RankId id = seat.rank.id();
    if (!runs(run.options(), id)) continue;
    threads_[id] = *thread++;
    threads_[id]->job = [this, &seat] { sit(seat); };
  }
  Rank* outer = Rank::active();
  drive();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return leaving_ == 0; });
  }
  make_active(outer);
  SeatThreads::of_process().give_back(taken);
}

std::size_t ThreadSeats::count_run() const {
  std::size_t count = 0;
  for (const Seat& seat : run_->seats()) count += runs(run_->options(), seat.rank.id()) ? 1 : 0;
  return count;
}

void ThreadSeats::sit(Seat& seat) {
  processor_.let_go();
  CrashWatch crashes(*run_, false);
  ForkedChild::RankThread beside_others;
  {
    DataModeScope data(run_->options().shapes_only);
    make_active(&seat.rank);
    run_->run_body(seat);
    make_active(nullptr);
  }
  if (given_up_) stay();
  pass_turn(run_->turns().next_seat(*seat.lane));
  std::lock_guard lock(mutex_);
  --leaving_;
  changed_.notify_one();
}

void ThreadSeats::start(Seat& seat) {
  RankId id = seat.rank.id();
  std::shared_ptr<SeatThread> thread = start_seat_thread();
  thread->job = [this, &seat] { sit(seat); };
  {
    std::lock_guard lock(mutex_);
    ++leaving_;
  }
  threads_[id] = thread.get();
  started_.push_back(std::move(thread));
}

// A null seat stands for the root.
void ThreadSeats::pass_turn(Seat* next) {
  if (next) {
    SeatThread& thread = *threads_[next->rank.id()];
    processor_.hold(thread.thread);
    thread.turn.release();
    return;
  }
  std::lock_guard lock(mutex_);
  root_has_turn_ = true;
  changed_.notify_one();
}

void ThreadSeats::suspend(Seat& seat) {
  if (given_up_) stay();
  Seat* next = run_->turns().next_seat(*seat.lane);
  if (next == &seat) return;
  pass_turn(next);
  threads_[seat.rank.id()]->turn.acquire();
  processor_.let_go();
}

pthread_t ThreadSeats::thread_of(const Seat& seat) const {
  const SeatThread* thread = threads_[seat.rank.id()];
  return thread ? thread->thread : pthread_self();
}

void ThreadSeats::drive() {
  do {
    root_has_turn_ = false;
    pass_turn(run_->turns().next_seat(run_->turns().lane(0)));
    wait_for_root();
    make_active(nullptr);
  } while (!run_->settle());
}

void ThreadSeats::wait_for_root() {
  std::unique_lock lock(mutex_);
  if (!host_) return changed_.wait(lock, [this] { return root_has_turn_; });
  while (!changed_.wait_for(lock, look_interval, [this] { return root_has_turn_; })) {
    lock.unlock();
    ask_host();
    lock.lock();
  }
}

void ThreadSeats::ask_host() {
  auto now = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed = now - asked_;
  asked_ = now;
  if (std::uint64_t progress = run_->progress(); progress != progress_seen_) {
    progress_seen_ = progress;
    stands_for_ = {};
  } else {
    stands_for_ += std::min(passed, counted_max);
  }
  RankId id = run_->running_rank();
  pthread_t thread = id == no_rank ? pthread_self() : thread_of(run_->seats()[id]);
  switch (host_->look({id, thread, stands_for_, *run_})) {
    case ThreadHost::Verdict::go_on: return;
    case ThreadHost::Verdict::interrupt: return run_->interrupt();
    case ThreadHost::Verdict::give_up: break;
  }
  given_up_ = true;
  throw RunGivenUp(ErrorKind::runtime_error, "engine/timeout",
                   fmt::format("rank {} has not given up its turn for {:.1f} s of wall time", id,
                               stands_for_.count()));
}

}  // namespace simmesh
