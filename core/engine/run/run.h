#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/check/floating_point.h"
#include "core/engine/options/world_options.h"
#include "core/engine/ranks/state_map.h"
#include "core/engine/reports/outcome.h"
#include "core/engine/reports/watchdog.h"
#include "core/engine/schedules/activity.h"
#include "core/engine/schedules/reported_run.h"
#include "core/engine/seats/seat.h"
#include "core/engine/seats/seats.h"
#include "core/engine/seats/stack_arena.h"
#include "core/trace/trace.h"

namespace simmesh {

struct DeputyWork;
struct Lane;

// RankEnded is thrown through a rank's frames when its run has ended because of another rank. It is
// not a std::exception, so that handlers of errors let it pass.
struct RankEnded {};

// message_of returns the text of an exception.
std::string message_of(const std::exception_ptr& exception);

// Run is the engine of one run: which ranks can run, who goes next, what is recorded. The layers
// above use it to let ranks wait for one another.
//
// One rank at a time has the turn, and only it may touch what the ranks share. With one thread the
// rank that runs has it. With several, a rank that was woken runs ahead on its thread until it
// needs the turn, and gets it when the schedule comes to it; so the schedule is the same for any
// number of threads. The design is in docs/scheduler.md.
class Run final : public ReportedRun {
 public:
  // The options are those of the World, which has checked them.
  Run(World& world, const WorldOptions& options, std::unique_ptr<Seats> seats);
  ~Run() override;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // start seats the ranks of a new run; finish returns the result, once all have ended.
  void start();
  Seats& seats() { return *seating_; }
  Outcome finish();

  // stop_watching lets a run stand that its host has given up.
  void stop_watching() { watchdog_.reset(); }

  // next_seat decides who goes on next on a lane: null for its root. Blocks while, with several
  // threads, there is nothing to do.
  Seat* next_seat(Lane& lane) noexcept;

  World& world() { return world_; }
  const WorldOptions& options() const { return options_; }
  Rank& rank(RankId id) { return seats_[id].rank; }
  Trace& trace() { return trace_; }
  std::uint64_t step() const { return step_.load(std::memory_order_relaxed); }
  // number tells runs of the process apart.
  std::uint32_t number() const { return number_; }

  // state holds what a layer above keeps for this run; it is gone when the run has ended. The
  // caller has the turn.
  template <class T>
  T& state() {
    return states_.get<T>();
  }

  std::uint64_t progress() const override {
    return step() + heartbeats_.load(std::memory_order_relaxed);
  }
  RankId running_rank() const override;
  pthread_t thread_of(RankId id) const override;
  const LastOperation& last_operation(RankId id) const override {
    return seats_[id].last_operation;
  }
  const std::string& reproduce_line() const override { return reproduce_line_; }
  std::size_t overflowed_stack_bytes(const std::byte* address) const override {
    return stacks_ && stacks_->is_in_gap(address) ? stacks_->stack_bytes() : 0;
  }
  std::string describe_ranks(RankId except) const override;

  // interrupt lets the run end when its rank gives up its turn. Any thread may call it.
  void interrupt() { interrupt_is_asked_ = true; }

  // take_turn blocks until the rank may touch what ranks share. Raises RankEnded if the run has
  // ended meanwhile.
  void take_turn(Rank& rank);

  // begin_operation takes the turn, counts an operation of the rank and lets the fault plan kill it
  // there. Returns the fault that the operation has to carry out itself; null for none.
  const Fault* begin_operation(Rank& rank, const char* operation, const CallSite& site);

  // block suspends the rank, which has the turn, until wake. Costs one switch. Raises RankEnded if
  // the run ends first. The rank may come back without the turn.
  void block(Rank& rank, const Activity& activity);

  // wake makes a blocked rank runnable; one whose deadline has come is so already. The caller has
  // the turn.
  void wake(RankId rank);

  // block_until does so until wake or until the run's time reaches a deadline. Time passes only
  // when no rank can run. Returns false where the deadline came first.
  bool block_until(Rank& rank, const Activity& activity, double deadline_seconds);
  // sleep suspends the rank for that much of the run's time, which begins at 0.
  void sleep(Rank& rank, double seconds, const CallSite& site);
  double seconds() const { return seconds_; }

  // wakes says whether wake would do something: the rank is blocked, and no deadline woke it.
  bool wakes(RankId rank) const {
    return seats_[rank].state == Seat::State::blocked && timed_out_.count(rank) == 0;
  }

  // yield lets the schedule choose again between this rank and the others.
  void yield(Rank& rank, const CallSite& site);

  // give puts work at the end of a deputy's list; wait_for_work blocks the rank until it is done,
  // or can't be: see Deputy.
  void give(Rank& rank, RankId deputy, std::shared_ptr<DeputyWork> work);
  void wait_for_work(Rank& rank, const std::shared_ptr<DeputyWork>& work, const CallSite& site);

  // heartbeat is that of Rank.
  void heartbeat(Rank& rank, const CallSite& site);

  // touch lets the schedule choose, then records that the rank uses an object, with the turn. Uses
  // of one object by different ranks are what the explorer reorders, once the object is known to be
  // order_sensitive.
  void touch(Rank& rank, std::uint64_t object, const CallSite& site);
  // touch_within records, without another choice, that what the rank does in this step changes an
  // object that others may ask about. The caller has the turn.
  void touch_within(Rank& rank, std::uint64_t object);
  // is_explored says whether anybody listens to that.
  bool is_explored() const { return is_explored_; }
  void mark_order_sensitive(std::uint64_t object) { order_sensitive_.insert(object); }
  // mark_all_order_sensitive does so for every object, also of touch_within: a rank has asked what
  // others have done so far.
  void mark_all_order_sensitive() { all_are_order_sensitive_ = true; }

  // fold adds a word to the schedule hash. The caller has the turn.
  void fold(std::uint64_t word) { schedule_hash_.fold(word); }

  // record adds an event at the current step. The caller has the turn.
  void record(Event event) {
    event.step = step();
    trace_.record(event);
  }

 private:
  friend class Worker;
  friend class FiberSeats;
  friend class ThreadSeats;

  void seat_ranks();
  void serve(Rank& deputy);
  void rest(Seat& deputy);
  void end_work(Seat& deputy, const std::shared_ptr<DeputyWork>& work, std::exception_ptr error);
  bool is_at_rest(const Seat& seat) const;
  bool is_at_rest() const;
  void take_errors_of_work();
  void drop_work();
  bool give_up_lost_work();
  bool let_time_pass();
  const DeputyWork* what_broke(std::size_t crew) const;
  void run_body(Seat& seat, const std::function<void(Rank&)>& body);
  Seat* next_seat_of_several(Lane& lane);
  RankId choose();
  void take_schedule_error();
  const Fault* fault_at(Rank& rank, const char* operation, const CallSite& site);
  void wait_for_turn(Seat& seat);
  void check_fiber(const Seat& seat) const {
    if (__builtin_frame_address(0) < static_cast<const void*>(seat.stack_end)) [[unlikely]]
      refuse_overflow(seat.rank.id());
    if (!FloatingPointMode::current().is_default()) [[unlikely]]
      refuse_floating_point(seat.rank.id());
  }
  [[noreturn]] void refuse_overflow(RankId id) const;
  [[noreturn]] void refuse_floating_point(RankId id) const;
  [[noreturn]] void end_rank(Seat& seat) const;
  void find_overflow(Seat& seat);
  void fetch_ahead() const;
  void make_runnable(Seat& seat);
  void pass_turn();
  bool settle();
  Failure find_failure() const;
  std::size_t unfinished() const;
  std::string describe_cycle() const;
  std::string describe_divergence() const;
  Outcome outcome();
  std::vector<DeviceReport> device_reports();
  void add_figures(Outcome& result);
  void write_trace_file(const Outcome& result);
  bool has_one_thread() const { return has_one_thread_; }

  World& world_;
  const WorldOptions& options_;
  Trace trace_;
  StateMap states_;
  boost::intrusive_ptr<PhysicalMemory> memory_;
  std::int64_t uncharged_before_ = 0;  // storages that earlier runs left alive
  std::unique_ptr<Seats> seating_;
  std::unique_ptr<StackArena> stacks_;  // of fibers
  std::unique_ptr<SchedulePolicy> policy_;
  std::vector<Seat> seats_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<RankId> choices_;
  std::vector<Touch> touches_;
  std::set<std::uint64_t> order_sensitive_;
  std::vector<RankId> ending_queue_;
  std::vector<std::shared_ptr<DeputyWork>> failed_work_;   // in the order of failures
  std::vector<std::shared_ptr<DeputyWork>> awaited_work_;  // for which a rank is blocked
  std::set<std::pair<double, RankId>> deadlines_;          // of blocked ranks
  std::set<RankId> timed_out_;                             // their deadlines came; not on yet
  double seconds_ = 0;
  FoldHash schedule_hash_;
  std::atomic<std::uint64_t> step_ = 0;  // written with the turn
  std::atomic<std::uint64_t> heartbeats_ = 0;
  std::uint32_t number_ = 0;
  std::size_t runnable_ = 0;
  std::size_t finished_ = 0;
  std::size_t ending_next_ = 0;
  bool ending_ = false;
  bool is_interrupted_ = false;
  std::atomic<bool> interrupt_is_asked_ = false;
  bool all_are_order_sensitive_ = false;
  bool is_explored_ = false;  // the policy listens to touches
  bool has_operation_faults_ = false;
  bool has_one_thread_ = true;
  bool fetches_ahead_ = false;
  std::string schedule_error_;
  std::string reproduce_line_;
  std::optional<Watchdog> watchdog_;
  std::optional<Failure> failure_;

  // With several threads: who has the turn, under the mutex.
  std::mutex turn_mutex_;
  RankId turn_ = no_rank;
  bool root_has_turn_ = false;
  bool done_ = false;
};

}  // namespace simmesh
