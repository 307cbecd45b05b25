#include "core/engine/run/run.h"

#include <algorithm>
#include <boost/fiber/context.hpp>
#include <utility>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/frames.h"
#include "core/clock/clock.h"
#include "core/engine/reports/interrupt.h"
#include "core/engine/reports/run_trace.h"
#include "core/engine/run/deputy_work.h"
#include "core/engine/seats/lane.h"

namespace simmesh {

namespace {

// The stacks of fewer ranks stay in the second cache by themselves.
constexpr std::size_t fetched_ranks_min = 256;

std::atomic<std::uint32_t> runs_started = 0;

std::vector<RankId> starved_ranks(const FaultPlan& faults) {
  std::vector<RankId> ranks;
  for (const Fault& fault : faults)
    if (fault.kind == Fault::Kind::starve) ranks.push_back(fault.rank);
  return ranks;
}

}  // namespace

// These members of Rank ask its run. They stand here because rank.h is below run.h.
World& Rank::world() { return run_->world(); }
void Rank::yield(CallSite site) { run_->yield(*this, site); }
void Rank::sleep(double seconds, CallSite site) { run_->sleep(*this, seconds, site); }
double Rank::seconds() const { return run_->seconds(); }
void Rank::heartbeat(CallSite site) { run_->heartbeat(*this, site); }

Run::Run(World& world, const WorldOptions& options, std::unique_ptr<Seats> seats)
    : world_(world),
      options_(options),
      trace_(trace_events_max(options)),
      memory_(new PhysicalMemory({.poison = options.poison})),
      seating_(std::move(seats)),
      reproduce_line_(to_string(Repro{options.program, options.seed, options.schedule.name()})) {
  if (!options.ranks_are_threads)
    stacks_ = std::make_unique<StackArena>(StackArena::Options{.stacks = fibers(options),
                                                               .stack_bytes = options.stack_bytes,
                                                               .guarded = options.guard_pages});
  std::size_t threads = std::min(options.threads, options.ranks);
  for (std::size_t i = 0; i < threads; ++i) lanes_.push_back(std::make_unique<Lane>());
  has_one_thread_ = threads == 1;
  fetches_ahead_ = has_one_thread_ && options.ranks >= fetched_ranks_min;
  for (const Fault& fault : options.faults)
    has_operation_faults_ |=
        fault.kind != Fault::Kind::starve && fault.kind != Fault::Kind::fail_allocation;
}

Run::~Run() = default;

void Run::start() {
  std::chrono::duration<double> timeout(options_.timeout_seconds);
  Watchdog* outer =
      in_rank() && this_rank().run().watchdog_ ? &*this_rank().run().watchdog_ : nullptr;
  policy_ = options_.schedule.make_policy(fibers(options_), options_.seed);
  if (auto starved = starved_ranks(options_.faults); !starved.empty())
    policy_ = starving(std::move(policy_), std::move(starved));
  is_explored_ = policy_->listens();
  memory_->restart_peak();
  uncharged_before_ = memory_->live_uncharged();
  number_ = ++runs_started;
  seat_ranks();
  for (const Fault& fault : options_.faults)
    if (fault.kind == Fault::Kind::fail_allocation && fault.rank < seats_.size())
      seats_[fault.rank].rank.ledger().fail_allocation(fault.at);
  trace_.clear();
  choices_.clear();
  touches_.clear();
  order_sensitive_.clear();
  ending_queue_.clear();
  failed_work_.clear();
  awaited_work_.clear();
  schedule_hash_ = FoldHash();
  schedule_error_.clear();
  failure_.reset();
  deadlines_.clear();
  timed_out_.clear();
  seconds_ = 0;
  step_ = 0;
  runnable_ = finished_ = ending_next_ = 0;
  turn_ = no_rank;
  interrupt_is_asked_ = false;
  ending_ = is_interrupted_ = all_are_order_sensitive_ = root_has_turn_ = done_ = false;
  for (Seat& seat : seats_) {
    if (seat.state == Seat::State::idle) continue;
    if (runs(options_, seat.rank.id()))
      make_runnable(seat);
    else
      ++finished_;
  }
  // A host that looks itself may not get to, where a rank keeps all of the host's threads waiting.
  if (options_.ranks_are_threads && options_.thread_host) timeout *= 2;
  if (Watchdog::is_needed(timeout) || outer) watchdog_.emplace(*this, timeout, outer);
}

// A rank that a folded world doesn't run has a seat where it has finished from the start. A deputy
// is on the thread of its rank, so the two never run at once.
void Run::seat_ranks() {
  seats_.clear();
  seats_.reserve(fibers(options_));
  for (std::size_t index = 0; index < fibers(options_); ++index) {
    auto id = RankId(index);
    bool is_deputy = index >= options_.ranks, is_run = runs(options_, id);
    boost::intrusive_ptr<Ledger> ledger(new Ledger(id, memory_));
    std::unique_ptr<Clock> clock;
    if (options_.device && is_run && !is_deputy)
      clock = std::make_unique<Clock>(*options_.device, id, *ledger);
    if (clock && !options_.trace_file.empty()) clock->label_operations();
    Rank rank({*this, number_}, id, options_.seed, std::move(ledger), std::move(clock));
    seats_.push_back(Seat{.rank = std::move(rank),
                          .lane = lanes_[index % options_.ranks % lanes_.size()].get(),
                          .state = is_deputy ? Seat::State::idle
                                   : is_run  ? Seat::State::runnable
                                             : Seat::State::finished});
    if (is_deputy) seats_.back().desk = std::make_shared<DeputyDesk>();
  }
}

Outcome Run::finish() {
  watchdog_.reset();
  Outcome result = outcome();
  if (!options_.trace_file.empty()) write_trace_file(result);
  states_.clear();
  drop_work();
  result.live_storages = memory_->live_uncharged() - uncharged_before_;
  for (Seat& seat : seats_) result.live_storages += seat.rank.ledger().live_storages();
  seats_.clear();
  return result;
}

void Run::run_body(Seat& seat, const std::function<void(Rank&)>& body) {
  try {
    check_fiber(seat);
    if (!seat.ended) body(seat.rank);
    check_fiber(seat);
  } catch (const RankEnded&) {
  } catch (...) {
    seat.exception = std::current_exception();
  }
  find_overflow(seat);
  try {
    take_turn(seat.rank);
  } catch (const RankEnded&) {
  }
  record({.rank = seat.rank.id(), .kind = EventKind::finish});
  seat.state = Seat::State::finished;
  seat.activity = nullptr;
  ++finished_;
  seat.lane->gives_up_turn = true;
  seat.lane->current_has_ended = true;
}

RankId Run::choose() {
  RankId next = no_rank;
  if (ending_) {
    if (ending_next_ < ending_queue_.size()) next = ending_queue_[ending_next_++];
  } else if (Interrupt::requested() || interrupt_is_asked_.load(std::memory_order_relaxed))
      [[unlikely]] {
    is_interrupted_ = true;
  } else if (runnable_ > 0) {
    next = policy_->pick();
    if (next == no_rank) [[unlikely]] {
      take_schedule_error();
    } else {
      --runnable_;
      step_.store(step() + 1, std::memory_order_relaxed);
      schedule_hash_.fold(next);
      if (options_.record_choices) choices_.push_back(next);
      if (fetches_ahead_) fetch_ahead();
    }
  }
  if (next != no_rank) seats_[next].state = Seat::State::running;
  return next;
}

SIMMESH_OWN_FRAME void Run::take_schedule_error() { schedule_error_ = policy_->error(); }

// The frames of a rank that waits in a collective take about a kilobyte above the place where it
// was suspended, and what the switch has saved lies below it.
void Run::fetch_ahead() const {
  constexpr std::ptrdiff_t below_bytes = 320, above_bytes = 896, line_bytes = 64;
  RankId coming = policy_->foreseen();
  if (coming == no_rank) return;
  const Seat& seat = seats_[coming];
  if (seat.suspended_at == 0) return;
  const std::byte* at = seat.stack_end + seat.suspended_at;
  for (std::ptrdiff_t offset = -below_bytes; offset < above_bytes; offset += line_bytes)
    __builtin_prefetch(at + offset);
}

Seat* Run::next_seat(Lane& lane) noexcept {
  if (!has_one_thread()) return next_seat_of_several(lane);
  RankId next = choose();
  return next == no_rank ? nullptr : &seats_[next];
}

void Run::pass_turn() {
  turn_ = choose();
  root_has_turn_ = turn_ == no_rank;
  Lane& owner = root_has_turn_ ? *lanes_.front() : *seats_[turn_].lane;
  owner.changed.notify_one();
}

Seat* Run::next_seat_of_several(Lane& lane) {
  std::unique_lock lock(turn_mutex_);
  if (std::exchange(lane.gives_up_turn, false)) pass_turn();
  for (;;) {
    if (turn_ != no_rank && seats_[turn_].lane == &lane) {
      Seat& seat = seats_[turn_];
      if (seat.turn == Seat::Turn::released || seat.turn == Seat::Turn::waiting) {
        seat.turn = Seat::Turn::held;
        return &seat;
      }
    }
    if (done_ || (root_has_turn_ && &lane == lanes_.front().get())) return nullptr;
    if (!lane.released.empty()) {
      Seat& seat = seats_[lane.released.front()];
      lane.released.pop_front();
      if (seat.turn != Seat::Turn::released) continue;
      seat.turn = Seat::Turn::ahead;
      return &seat;
    }
    lane.changed.wait(lock);
  }
}

void Run::make_runnable(Seat& seat) {
  seat.state = Seat::State::runnable;
  if (ending_)
    ending_queue_.push_back(seat.rank.id());
  else {
    policy_->add(seat.rank.id());
    ++runnable_;
  }
  if (has_one_thread()) return;
  std::lock_guard lock(turn_mutex_);
  seat.turn = Seat::Turn::released;
  seat.lane->released.push_back(seat.rank.id());
  seat.lane->changed.notify_one();
}

void Run::take_turn(Rank& rank) {
  Seat& seat = seats_[rank.id()];
  if (!has_one_thread() && seat.turn != Seat::Turn::held) [[unlikely]]
    wait_for_turn(seat);
  if (seat.ended) end_rank(seat);
}

SIMMESH_OWN_FRAME void Run::wait_for_turn(Seat& seat) {
  bool must_wait = false;
  {
    std::lock_guard lock(turn_mutex_);
    must_wait = turn_ != seat.rank.id();
    seat.turn = must_wait ? Seat::Turn::waiting : Seat::Turn::held;
  }
  if (must_wait) seating_->suspend(seat);
}

const Fault* Run::begin_operation(Rank& rank, const char* operation, const CallSite& site) {
  take_turn(rank);
  Seat& seat = seats_[rank.id()];
  // Every switch follows an operation or a yield. Here the rank is in nobody's list yet, so it can
  // still fail cleanly.
  check_fiber(seat);
  rank.count_operation();
  seat.last_operation = {operation, site};
  return has_operation_faults_ ? fault_at(rank, operation, site) : nullptr;
}

SIMMESH_OWN_FRAME const Fault* Run::fault_at(Rank& rank, const char* operation,
                                             const CallSite& site) {
  for (const Fault& fault : options_.faults) {
    bool is_at_operation =
        fault.kind != Fault::Kind::starve && fault.kind != Fault::Kind::fail_allocation;
    if (!is_at_operation || fault.rank != rank.id() || fault.at != rank.operations()) continue;
    record({.rank = rank.id(), .kind = EventKind::fault, .operation = operation, .site = site});
    if (fault.kind == Fault::Kind::kill)
      raise(ErrorKind::runtime_error, "engine/fault",
            "{} was killed (injected) at its operation {}, {} at {}", name_of(options_, rank.id()),
            rank.operations(), operation, to_string(site));
    return &fault;
  }
  return nullptr;
}

// The frames that a rank waits in are read again when it goes on: the fewer the better.
SIMMESH_ONE_FRAME void Run::block(Rank& rank, const Activity& activity) {
  Seat& seat = seats_[rank.id()];
  if (seat.ended) end_rank(seat);
  SIMMESH_CHECK(has_one_thread() || seat.turn == Seat::Turn::held,
                "rank {} blocks without the turn", rank.id());
  seat.state = Seat::State::blocked;
  seat.activity = &activity;
  seat.lane->gives_up_turn = true;
  seating_->suspend(seat);
  if (seat.ended) end_rank(seat);
}

void Run::wake(RankId id) {
  if (!timed_out_.empty() && timed_out_.count(id) > 0) [[unlikely]]
    return;
  Seat& seat = seats_[id];
  SIMMESH_CHECK(seat.state == Seat::State::blocked, "rank {} is woken, but it isn't blocked", id);
  seat.activity = nullptr;
  make_runnable(seat);
}

void Run::yield(Rank& rank, const CallSite& site) {
  take_turn(rank);
  Seat& seat = seats_[rank.id()];
  check_fiber(seat);
  record({.rank = rank.id(), .kind = EventKind::yield, .operation = "yield", .site = site});
  if (ending_) end_rank(seat);
  make_runnable(seat);
  seat.lane->gives_up_turn = true;
  seating_->suspend(seat);
  if (seat.ended) end_rank(seat);
}

void Run::heartbeat(Rank& rank, const CallSite& site) {
  heartbeats_.fetch_add(1, std::memory_order_relaxed);
  if (Interrupt::requested()) yield(rank, site);
}

void Run::touch(Rank& rank, std::uint64_t object, const CallSite& site) {
  yield(rank, site);
  take_turn(rank);
  touch_within(rank, object);
}

void Run::touch_within(Rank& rank, std::uint64_t object) {
  touches_.push_back({step(), rank.id(), object});
  policy_->touched(rank.id(), object);
}

bool Run::settle() {
  if (!ending_ && (give_up_lost_work() || let_time_pass())) return false;
  bool has_finished = finished_ == seats_.size();
  take_errors_of_work();
  if (has_finished || (!failure_ && is_at_rest())) {
    if (!failure_) {
      Failure found = find_failure();
      if (found.rank != no_rank) failure_ = std::move(found);
    }
    if (has_finished) return true;
  } else if (!failure_) {
    for (Seat& seat : seats_)
      if (seat.state != Seat::State::finished) find_overflow(seat);
    failure_ = find_failure();
    if (failure_->kind == Failure::Kind::interrupt && step() > 0)
      Interrupt::tell(failure_->message + "\n" + failure_->details);
  }
  SIMMESH_CHECK(ending_next_ == ending_queue_.size(), "ranks are left to end");
  ending_ = true;
  for (Seat& seat : seats_) {
    if (seat.state == Seat::State::finished) continue;
    seat.ended = true;
    make_runnable(seat);
  }
  return false;
}

void Run::add_figures(Outcome& result) {
  result.shapes_only = true;
  for (std::size_t index = 0; index < options_.ranks; ++index) {
    Seat& seat = seats_[index];
    if (!runs(options_, seat.rank.id())) continue;
    result.figures.push_back(RankFigures::of(seat.rank));
    if (!options_.fold || !result.fold_difference.empty()) continue;
    result.fold_difference = difference(result.figures.front(), result.figures.back());
  }
}

// Times of a run that failed would be those of a part of it.
std::vector<DeviceReport> Run::device_reports() {
  std::vector<const Timeline*> logs;
  std::vector<const Clock*> clocks;
  for (Seat& seat : seats_)
    if (const Clock* clock = seat.rank.clock()) clocks.push_back(clock);
  logs.reserve(clocks.size());
  for (const Clock* clock : clocks) logs.push_back(&clock->timeline());
  std::vector<DeviceReport> reports(logs.size());
  if (!failure_) reports = resolve_times(logs);
  for (std::size_t i = 0; i < reports.size(); ++i) reports[i].memory = clocks[i]->memory();
  return reports;
}

Outcome Run::outcome() {
  Outcome result;
  FoldHash data;
  for (Seat& seat : seats_) {
    data.fold(seat.rank.data_hash());
    const Ledger& ledger = seat.rank.ledger();
    if (seat.rank.id() < options_.ranks)
      result.peak_bytes = std::max(result.peak_bytes, ledger.total().peak);
    result.copies_on_write += ledger.copies_on_write();
  }
  result.data_hash = data.value();
  result.schedule_hash = schedule_hash_.value();
  result.steps = step();
  result.ranks = options_.ranks;
  result.physical_peak_bytes = memory_->peak_bytes();
  result.choices = std::move(choices_);
  for (const Touch& touch : touches_)
    if (all_are_order_sensitive_ || order_sensitive_.count(touch.object))
      result.touches.push_back(touch);
  if (options_.shapes_only) add_figures(result);
  if (options_.device) result.devices = device_reports();
  result.failure = std::move(failure_);
  result.repro = {options_.program, options_.seed, options_.schedule.name()};
  return result;
}

}  // namespace simmesh
