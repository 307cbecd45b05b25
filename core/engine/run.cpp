#include "core/engine/run.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/thread.hpp>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/engine/worker.h"

namespace simmesh {

namespace {

#ifdef NDEBUG
constexpr bool is_debug_build = false;
#else
constexpr bool is_debug_build = true;
#endif
constexpr std::size_t guarded_ranks_max = 1024;
// The stacks of fewer ranks stay in the second cache by themselves.
constexpr std::size_t fetched_ranks_min = 256;

// Frames are larger under the address sanitizer, and so is the default.
std::size_t stack_bytes(const WorldOptions& options) {
#ifdef SIMMESH_ASAN
  if (options.stack_bytes == WorldOptions().stack_bytes) return 4 * options.stack_bytes;
#endif
  return options.stack_bytes;
}

std::vector<RankId> starved_ranks(const FaultPlan& faults) {
  std::vector<RankId> ranks;
  for (const Fault& fault : faults)
    if (fault.kind == Fault::Kind::starve) ranks.push_back(fault.rank);
  return ranks;
}

}  // namespace

Run::Run(World& world)
    : world_(world),
      trace_(world.options().trace_events_max),
      memory_(new PhysicalMemory({.poison_freed = is_debug_build})),
      stacks_(std::make_unique<StackArena>(StackArena::Options{
          .stacks = world.ranks(),
          .stack_bytes = stack_bytes(world.options()),
          .guard_pages = is_debug_build && world.ranks() <= guarded_ranks_max})) {
  std::size_t threads = std::min(world.options().threads, world.ranks());
  for (std::size_t i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>(*this, i));
  has_one_thread_ = threads == 1;
  fetches_ahead_ = has_one_thread_ && world.ranks() >= fetched_ranks_min;
  for (const Fault& fault : world.options().faults)
    has_operation_faults_ |=
        fault.kind != Fault::Kind::starve && fault.kind != Fault::Kind::fail_allocation;
}

Run::~Run() = default;

void Run::prepare() {
  const WorldOptions& options = world_.options();
  policy_ = options.schedule.make_policy(options.ranks, options.seed);
  if (auto starved = starved_ranks(options.faults); !starved.empty())
    policy_ = starving(std::move(policy_), std::move(starved));
  stacks_->close_guard_pages();
  memory_->restart_peak();
  seat_ranks();
  for (const Fault& fault : options.faults)
    if (fault.kind == Fault::Kind::fail_allocation && fault.rank < options.ranks)
      seats_[fault.rank].rank.ledger().fail_allocation(fault.at);
  trace_.clear();
  choices_.clear();
  touches_.clear();
  order_sensitive_.clear();
  ending_queue_.clear();
  schedule_hash_ = FoldHash();
  schedule_error_.clear();
  failure_.reset();
  step_ = runnable_ = finished_ = ending_next_ = 0;
  turn_ = no_rank;
  ending_ = root_has_turn_ = done_ = false;
  for (Seat& seat : seats_) {
    if (world_.runs(seat.rank.id()))
      make_runnable(seat);
    else
      ++finished_;
  }
}

// A rank that a folded world doesn't run has a seat where it has finished from the start.
void Run::seat_ranks() {
  const WorldOptions& options = world_.options();
  seats_.clear();
  seats_.reserve(options.ranks);
  for (std::size_t id = 0; id < options.ranks; ++id) {
    boost::intrusive_ptr<Ledger> ledger(new Ledger(RankId(id), memory_));
    std::shared_ptr<Clock> clock;
    if (options.device && world_.runs(RankId(id)))
      clock = std::make_shared<Clock>(*options.device, RankId(id), *ledger);
    seats_.push_back(
        Seat{.rank = Rank(*this, RankId(id), options.seed, std::move(ledger), std::move(clock)),
             .worker = workers_[id % workers_.size()].get(),
             .state = world_.runs(RankId(id)) ? State::runnable : State::finished});
  }
}

Outcome Run::execute(const std::function<void(Rank&)>& body) {
  prepare();
  run_workers(body);
  Outcome result = outcome();
  states_.clear();
  for (Seat& seat : seats_) result.live_storages += seat.rank.ledger().live_storages();
  seats_.clear();
  return result;
}

void Run::run_workers(const std::function<void(Rank&)>& body) {
  boost::thread_group threads;
  for (std::size_t i = 1; i < workers_.size(); ++i)
    threads.create_thread([this, i, &body] { workers_[i]->work(body); });
  workers_[0]->work(body);
  threads.join_all();
}

void Run::run_body(RankId id, const std::function<void(Rank&)>& body) {
  Seat& seat = seats_[id];
  try {
    if (!seat.ended) body(seat.rank);
    check_stack(seat);
  } catch (const RankEnded&) {
  } catch (...) {
    seat.exception = std::current_exception();
  }
  try {
    take_turn(seat.rank);
  } catch (const RankEnded&) {
  }
  record({.rank = id, .kind = EventKind::finish});
  seat.state = State::finished;
  seat.activity = nullptr;
  ++finished_;
  Worker& worker = worker_of(id);
  worker.give_up_turn();
  worker.mark_ended();
}

RankId Run::choose() {
  RankId next = no_rank;
  if (ending_) {
    if (ending_next_ < ending_queue_.size()) next = ending_queue_[ending_next_++];
  } else if (runnable_ > 0) {
    next = policy_->pick();
    if (next == no_rank) [[unlikely]] {
      take_schedule_error();
    } else {
      --runnable_;
      ++step_;
      schedule_hash_.fold(next);
      if (world_.options().record_choices) choices_.push_back(next);
      if (fetches_ahead_) fetch_ahead();
    }
  }
  if (next != no_rank) seats_[next].state = State::running;
  return next;
}

[[gnu::noinline]] void Run::take_schedule_error() { schedule_error_ = policy_->error(); }

// The frames of a rank that waits in a collective take about a kilobyte above the place where it
// was suspended, and what the switch has saved lies below it.
void Run::fetch_ahead() const {
  constexpr std::ptrdiff_t below_bytes = 320, above_bytes = 896, line_bytes = 64;
  RankId coming = policy_->foreseen();
  if (coming == no_rank) return;
  const std::byte* at = seats_[coming].suspended_at;
  if (!at) return;
  for (std::ptrdiff_t offset = -below_bytes; offset < above_bytes; offset += line_bytes)
    __builtin_prefetch(at + offset);
}

void Run::pass_turn() {
  turn_ = choose();
  root_has_turn_ = turn_ == no_rank;
  Worker& owner = root_has_turn_ ? *workers_[0] : worker_of(turn_);
  owner.notify();
}

void Run::make_runnable(Seat& seat) {
  seat.state = State::runnable;
  if (ending_)
    ending_queue_.push_back(seat.rank.id());
  else {
    policy_->add(seat.rank.id());
    ++runnable_;
  }
  if (has_one_thread()) return;
  Worker& worker = worker_of(seat.rank.id());
  boost::lock_guard<boost::mutex> lock(turn_mutex_);
  seat.turn = Turn::released;
  worker.release(seat.rank.id());
  worker.notify();
}

void Run::suspend(Seat& seat) {
  Worker& worker = *seat.worker;
  SavedExceptions exceptions(worker.exceptions());
  seat.suspended_at = static_cast<const std::byte*>(__builtin_frame_address(0));
  seat.context->suspend();
  worker.arrived(seat);
  seat.canary->fetch();
}

[[gnu::noinline]] void Run::refuse_overflow(RankId id) const {
  raise(ErrorKind::runtime_error, "engine/stack",
        "rank {} used more than its {} bytes of stack; set WorldOptions::stack_bytes", id,
        stacks_->stack_bytes());
}

void Run::take_turn(Rank& rank) {
  Seat& seat = seats_[rank.id()];
  if (!has_one_thread() && seat.turn != Turn::held) [[unlikely]]
    wait_for_turn(seat);
  if (seat.ended) throw RankEnded();
}

[[gnu::noinline]] void Run::wait_for_turn(Seat& seat) {
  bool must_wait = false;
  {
    boost::lock_guard<boost::mutex> lock(turn_mutex_);
    must_wait = turn_ != seat.rank.id();
    seat.turn = must_wait ? Turn::waiting : Turn::held;
  }
  if (must_wait) suspend(seat);
}

const Fault* Run::begin_operation(Rank& rank, const char* operation, const CallSite& site) {
  take_turn(rank);
  // Every switch follows an operation or a yield. Here the rank is in nobody's list yet, so it can
  // still fail cleanly.
  check_stack(seats_[rank.id()]);
  rank.count_operation();
  return has_operation_faults_ ? fault_at(rank, operation, site) : nullptr;
}

[[gnu::noinline]] const Fault* Run::fault_at(Rank& rank, const char* operation,
                                             const CallSite& site) {
  for (const Fault& fault : world_.options().faults) {
    bool is_at_operation =
        fault.kind != Fault::Kind::starve && fault.kind != Fault::Kind::fail_allocation;
    if (!is_at_operation || fault.rank != rank.id() || fault.at != rank.operations()) continue;
    record({.rank = rank.id(), .kind = EventKind::fault, .operation = operation, .site = site});
    if (fault.kind == Fault::Kind::kill)
      raise(ErrorKind::runtime_error, "engine/fault",
            "rank {} was killed (injected) at its operation {}, {} at {}", rank.id(),
            rank.operations(), operation, to_string(site));
    return &fault;
  }
  return nullptr;
}

// The frames that a rank waits in are read again when it goes on: the fewer the better.
[[gnu::flatten]] void Run::block(Rank& rank, const Activity& activity) {
  Seat& seat = seats_[rank.id()];
  if (seat.ended) throw RankEnded();
  SIMMESH_CHECK(has_one_thread() || seat.turn == Turn::held, "rank {} blocks without the turn",
                rank.id());
  seat.state = State::blocked;
  seat.activity = &activity;
  seat.worker->give_up_turn();
  suspend(seat);
  if (seat.ended) throw RankEnded();
}

void Run::wake(RankId id) {
  Seat& seat = seats_[id];
  SIMMESH_CHECK(seat.state == State::blocked, "rank {} is woken, but it isn't blocked", id);
  seat.activity = nullptr;
  make_runnable(seat);
}

void Run::yield(Rank& rank, const CallSite& site) {
  take_turn(rank);
  Seat& seat = seats_[rank.id()];
  check_stack(seat);
  record({.rank = rank.id(), .kind = EventKind::yield, .operation = "yield", .site = site});
  if (ending_) throw RankEnded();
  make_runnable(seat);
  seat.worker->give_up_turn();
  suspend(seat);
  if (seat.ended) throw RankEnded();
}

void Run::touch(Rank& rank, std::uint64_t object, const CallSite& site) {
  yield(rank, site);
  take_turn(rank);
  touches_.push_back({step_, rank.id(), object});
  policy_->touched(rank.id(), object);
}

bool Run::settle() {
  if (finished_ == seats_.size()) {
    if (!failure_) {
      Failure found = find_failure();
      if (found.rank != no_rank) failure_ = std::move(found);
    }
    return true;
  }
  if (!failure_) failure_ = find_failure();
  SIMMESH_CHECK(ending_next_ == ending_queue_.size(), "ranks are left to end");
  ending_ = true;
  for (Seat& seat : seats_) {
    if (seat.state == State::finished) continue;
    seat.ended = true;
    make_runnable(seat);
  }
  return false;
}

void Run::add_figures(Outcome& result) {
  result.shapes_only = true;
  for (Seat& seat : seats_) {
    if (!world_.runs(seat.rank.id())) continue;
    result.figures.push_back(RankFigures::of(seat.rank));
    if (!world_.options().fold || !result.fold_difference.empty()) continue;
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
  const WorldOptions& options = world_.options();
  Outcome result;
  FoldHash data;
  for (Seat& seat : seats_) {
    data.fold(seat.rank.data_hash());
    const Ledger& ledger = seat.rank.ledger();
    result.peak_bytes = std::max(result.peak_bytes, ledger.total().peak);
    result.copies_on_write += ledger.copies_on_write();
  }
  result.data_hash = data.value();
  result.schedule_hash = schedule_hash_.value();
  result.steps = step_;
  result.ranks = seats_.size();
  result.physical_peak_bytes = memory_->peak_bytes();
  result.choices = std::move(choices_);
  for (const Touch& touch : touches_)
    if (order_sensitive_.count(touch.object)) result.touches.push_back(touch);
  if (options.shapes_only) add_figures(result);
  if (options.device) result.devices = device_reports();
  result.failure = std::move(failure_);
  result.repro = {options.program, options.seed, options.schedule.name()};
  return result;
}

}  // namespace simmesh
