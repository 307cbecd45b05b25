#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/options/world_options.h"
#include "core/engine/ranks/state_map.h"
#include "core/engine/reports/activity.h"
#include "core/engine/reports/outcome.h"
#include "core/engine/reports/watchdog.h"
#include "core/engine/run/deadlines.h"
#include "core/engine/run/deputies.h"
#include "core/engine/run/failure_report.h"
#include "core/engine/run/fiber_checks.h"
#include "core/engine/run/rank_threads.h"
#include "core/engine/run/run_resources.h"
#include "core/engine/run/touch_log.h"
#include "core/engine/seats/seat.h"
#include "core/engine/seats/seated_run.h"
#include "core/engine/seats/turns.h"

namespace simmesh {

// RankEnded passes through a rank's frames when its run has ended because of another rank. It is
// not a std::exception, so that handlers of errors let it pass.
struct RankEnded {};

// Run is one run of a World. The layers above use it to let ranks wait for one another.
//
// One rank at a time has the turn, and only that rank may touch what ranks share; the schedule
// decides who is next. With several threads a rank that was woken runs ahead until it takes the
// turn. The design is in docs/scheduler.md.
//
//   Run& run = this_rank().run();
//   run.take_turn(this_rank());
//   run.block(this_rank(), {.operation = "recv"});   // until another rank calls run.wake
//
// A Run is made for one run and is gone with it. Its parts know one thing each: Picks the next
// rank, Turns the holder of the turn, Seats the way to suspend a rank, Deadlines the time, Deputies
// the work in the background, RankThreads the threads that ranks started, TouchLog the uses that
// the explorer may reorder.
class Run final : public SeatedRun {
 public:
  using Body = std::function<void(Rank&)>;

  // The options are those of the World, which has checked them. They, the resources and the body
  // must outlive the run.
  Run(World& world, const WorldOptions& options, RunResources& resources, const Body& body);
  ~Run() override;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // run_ranks runs the body on all ranks, and returns the outcome when all have ended. Called once.
  Outcome run_ranks();
  // stop_watching ends the watchdog of a run that its host has given up.
  void stop_watching() { watchdog_.reset(); }

  World& world() { return world_; }
  const WorldOptions& options() const override { return options_; }
  // number tells runs of the process apart.
  std::uint32_t number() const { return number_; }
  Rank& rank(RankId id) { return seats_[id].rank; }
  // state keeps a value of type T until the run ends, for a layer above. The caller has the turn.
  template <class T>
  T& state() {
    return states_.get<T>();
  }

  // take_turn blocks until the rank has the turn. Raises RankEnded if the run has ended.
  void take_turn(Rank& rank);

  // leave_to gives a rank what it has started and others have finished: it goes when the rank has
  // the turn again. Its tensors count in the rank's ledger, so their last owner must be the rank
  // itself, which may run ahead on another thread. The caller has the turn.
  void leave_to(RankId rank, std::shared_ptr<const void> started);

  // begin_operation takes the turn and counts an operation of the rank. Raises if the fault plan
  // kills the rank there. Returns the fault that the operation has to carry out; null for none.
  const Fault* begin_operation(Rank& rank, const char* operation, const CallSite& site);

  // block suspends the rank, which has the turn, until wake; it costs one switch. Afterwards the
  // rank may be without the turn. Raises RankEnded if the run ends first.
  void block(Rank& rank, const Activity& activity);
  // block_until blocks in the same way, but at most until the run's time has come to the deadline,
  // and takes the turn. Returns false if the deadline came first.
  bool block_until(Rank& rank, const Activity& activity, double deadline_seconds);

  // wake makes a blocked rank runnable. It does nothing for one whose deadline has come. The caller
  // has the turn. wakes is true if wake would do anything.
  void wake(RankId rank);
  bool wakes(RankId rank) const { return seats_[rank].state == Seat::State::blocked; }

  // rest suspends a deputy without work, which has the turn, until rouse. rouse does nothing for a
  // deputy that doesn't rest. The caller has the turn.
  void rest(Rank& deputy);
  void rouse(RankId deputy);

  // start_thread starts a thread of a rank, which has the turn, or of the rank behind a thread: it
  // does the work when the schedule chooses it. Returns its number. Raises a RuntimeError in a
  // world of fibers, for too many threads, and if the system gives no thread.
  RankId start_thread(Rank& rank, ThreadWork work);
  // end_threads ends the threads that a rank, which has the turn, still has: RankEnded is raised
  // where they wait or would give up the turn.
  void end_threads(Rank& rank);
  const RankThreads& threads() const { return threads_; }
  // record_result folds a result into the data hash. Those of threads count in no order.
  void record_result(Rank& rank, std::uint64_t word);

  // others_can_run is true if the schedule could choose another rank than the one with the turn.
  bool others_can_run() const { return turns_.picks().runnable() > 0; }
  // has_ended is true once the run, or the rank that has the turn, only unwinds.
  bool has_ended(const Rank& rank) const { return seats_[rank.id()].ended; }

  // yield lets the schedule choose between this rank and the others that can run.
  void yield(Rank& rank, const CallSite& site);
  // touch yields, takes the turn and records that the rank uses objects: see TouchLog. With only an
  // object the rank changes it.
  void touch(Rank& rank, gsl::span<const Access> accesses, const CallSite& site);
  void touch(Rank& rank, std::uint64_t object, const CallSite& site);
  // touch_in_step records a use that is no point of the schedule, for those who listen. To a
  // listener that splits steps it is one.
  void touch_in_step(Rank& rank, const Access& access, const CallSite& site);
  // look_late records that a rank whose deadline has come looks whether what it waited for is there
  // nevertheless: others may run at the same moment.
  void look_late(Rank& rank, std::uint64_t object, const CallSite& site);

  // sleep suspends the rank for that much of the run's time, which begins at 0 and passes only when
  // no rank can run. Raises a ValueError for less than 0.
  void sleep(Rank& rank, double seconds, const CallSite& site);
  double seconds() const { return deadlines_.seconds(); }
  // next_deadline returns the earliest moment after the present one for which a rank waits.
  std::optional<double> next_deadline() const { return deadlines_.next(); }

  // heartbeat is Rank::heartbeat.
  void heartbeat(Rank& rank, const CallSite& site);

  // fold adds a word to the schedule hash, and record an event at the current step to the trace.
  // The caller has the turn.
  void fold(std::uint64_t word) { turns_.picks().fold(word); }
  void record(Event event) {
    event.step = step();
    resources_.trace.record(event);
  }
  std::uint64_t step() const { return turns_.picks().step(); }

  TouchLog& touches() { return touches_; }
  Deputies& deputies() { return deputies_; }

  // The next members are for the seats.
  std::vector<Seat>& seats() override { return seats_; }
  Turns& turns() override { return turns_; }
  void run_body(Seat& seat) override;
  bool settle() override;
  void interrupt() override { turns_.picks().interrupt(); }

  // The next members are for the watchdog and crash reports.
  std::uint64_t progress() const override {
    return step() + heartbeats_.load(std::memory_order_relaxed);
  }
  RankId running_rank() const override;
  pthread_t thread_of(RankId id) const override;
  const LastOperation& last_operation(RankId id) const override {
    return seats_[id].last_operation;
  }
  const std::string& reproduce_line() const override { return resources_.reproduce_line; }
  std::size_t overflowed_stack_bytes(const std::byte* address) const override;
  std::string name_of_rank(RankId id) const override;
  std::string describe_ranks(RankId except) const override;

 private:
  std::vector<Seat> make_seats();
  Seat make_seat(RankId id);
  Seat& thread_seat(RankId id);
  void begin();
  void give_body(Seat& seat);
  void resume(Seat& seat);
  const Fault* fault_at(Rank& rank, const char* operation, const CallSite& site);
  [[noreturn]] void end_rank(Seat& seat);
  bool lets_ranks_go_on();
  Deputies::IsBlocked is_blocked() const;
  bool has_failed() const;
  bool is_at_rest() const;
  std::optional<Failure> find_failure();
  void end_all();
  FailureReport report() const;
  Outcome outcome();

  World& world_;
  const WorldOptions& options_;
  RunResources& resources_;
  const Body kept_body_;  // of threads, which may outlive the caller if the run is given up
  const Body& body_;
  const std::uint32_t number_;
  const std::int64_t uncharged_before_;  // storages that earlier runs left alive
  StateMap states_;
  std::unique_ptr<Seats> seating_;
  std::vector<Seat> seats_;
  Turns turns_;
  Deadlines deadlines_;
  Deputies deputies_;
  RankThreads threads_;
  TouchLog touches_;
  FiberChecks checks_;
  FaultPlan operation_faults_;
  std::atomic<std::uint64_t> heartbeats_ = 0;
  std::size_t finished_ = 0;
  std::optional<Failure> failure_;
  std::optional<Watchdog> watchdog_;
};

// serve_as_deputy is the body of a deputy: it does the deputy's work, one piece after the other,
// and rests while there is none. It returns only by RankEnded, once the run has ended.
void serve_as_deputy(Run& run, Rank& deputy);

}  // namespace simmesh
