#include "core/engine/run/run.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/clock/clock.h"
#include "core/engine/reports/crash_report.h"
#include "core/engine/reports/interrupt.h"
#include "core/engine/reports/run_observer.h"
#include "core/engine/run/rank_results.h"
#include "core/engine/run/spread_run.h"
#include "core/engine/seats/fiber_seats.h"
#include "core/engine/seats/forked_child.h"
#include "core/engine/seats/spread_seats.h"
#include "core/engine/seats/thread_seats.h"
#include "core/memory/data_mode.h"

namespace simmesh {

namespace {

std::atomic<std::uint32_t> runs_started = 0;

std::unique_ptr<SchedulePolicy> policy_of(const WorldOptions& options) {
  auto policy = options.schedule.make_policy(fibers(options), options.seed);
  std::vector<RankId> starved;
  for (const Fault& fault : options.faults)
    if (fault.kind == Fault::Kind::starve) starved.push_back(fault.rank);
  return starved.empty() ? std::move(policy) : starving(std::move(policy), std::move(starved));
}

std::unique_ptr<Seats> seating_of(const WorldOptions& options, const RunResources& resources) {
  if (options.ranks_are_threads) return std::make_unique<ThreadSeats>(options.thread_host);
  if (WorldSpread::active()) return std::make_unique<SpreadSeats>(*resources.stacks);
  return std::make_unique<FiberSeats>(*resources.stacks);
}

}  // namespace

Run::Run(World& world, const WorldOptions& options, RunResources& resources, const Body& body)
    : world_(world),
      options_(options),
      resources_(resources),
      kept_body_(options.ranks_are_threads ? body : nullptr),
      body_(options.ranks_are_threads ? kept_body_ : body),
      number_(++runs_started),
      uncharged_before_(resources.memory->live_uncharged()),
      seating_(seating_of(options, resources)),
      seats_(make_seats()),
      turns_(options, seats_, *seating_, policy_of(options)),
      deputies_(options),
      threads_(options),
      touches_(turns_.picks()),
      checks_(resources.stacks.get()) {
  std::optional<int> owner;
  if (in_rank())
    if (SpreadRun* outer = SpreadRun::of(this_rank().run())) owner = outer->owner(this_rank().id());
  if (WorldSpread::active())
    states_.get<SpreadRun::State>().run =
        SpreadRun::make(options, owner, []() -> void { throw RankEnded(); });
  resources_.memory->restart_peak();
  resources_.trace.clear();
  for (const Fault& fault : options_.faults) {
    if (fault.kind == Fault::Kind::fail_allocation) {
      if (fault.rank < seats_.size()) seats_[fault.rank].rank.ledger().fail_allocation(fault.at);
    } else if (fault.kind != Fault::Kind::starve) {
      operation_faults_.push_back(fault);
    }
  }
}

Run::~Run() {
  seats_.clear();
  resources_.seats = std::move(seats_);
}

// Seats of threads are added while ranks run, and seats stay where they are.
std::vector<Seat> Run::make_seats() {
  std::vector<Seat> seats = std::move(resources_.seats);
  seats.reserve(RankThreads::seats_max(options_));
  for (std::size_t index = 0; index < fibers(options_); ++index)
    seats.push_back(make_seat(RankId(index)));
  return seats;
}

// A rank that a folded world doesn't run has a seat too, where it has finished from the start, and
// so has a thread until it starts.
Seat Run::make_seat(RankId id) {
  bool is_rank = id < options_.ranks, is_thread = RankThreads::is_thread(options_, id);
  bool is_run = runs(options_, id) && !is_thread;
  boost::intrusive_ptr<Ledger> ledger(new Ledger(id, resources_.memory));
  std::unique_ptr<Clock> clock;
  if (options_.device && is_run && is_rank)
    clock = std::make_unique<Clock>(*options_.device, id, *ledger);
  if (clock && (!options_.trace_file.empty() || RunObserver::active())) clock->label_operations();
  return {.rank = {{*this, number_}, id, options_.seed, std::move(ledger), std::move(clock)},
          .state = !is_run   ? Seat::State::finished
                   : is_rank ? Seat::State::runnable
                             : Seat::State::idle};
}

void Run::begin() {
  for (Seat& seat : seats_) {
    if (seat.state == Seat::State::runnable) turns_.make_runnable(seat);
    if (seat.state == Seat::State::finished) ++finished_;
  }
  Watchdog* outer = nullptr;
  if (in_rank() && this_rank().run().watchdog_) outer = &*this_rank().run().watchdog_;
  std::chrono::duration<double> timeout(options_.timeout_seconds);
  // A host that looks for itself can't do so while a rank keeps all of the host's threads waiting.
  if (options_.ranks_are_threads && options_.thread_host) timeout *= 2;
  if (Watchdog::is_needed(timeout) || outer) watchdog_.emplace(*this, timeout, outer);
}

Outcome Run::run_ranks() {
  ForkedChild::OwnRun ranks_are_here;
  begin();
  seating_->run_all(*this);
  watchdog_.reset();
  return outcome();
}

void Run::give_body(Seat& seat) {
  if (RankThreads::is_thread(options_, seat.rank.id()))
    std::function(threads_.work(seat.rank.id()).body)(seat.rank);
  else if (crew_of(options_, seat.rank.id()) > 0)
    serve_as_deputy(*this, seat.rank);
  else
    body_(seat.rank);
}

void Run::run_body(Seat& seat) {
  SpreadRun* spread = SpreadRun::of(*this);
  if (spread) [[unlikely]]
    DataMode::set_shapes_only(!spread->owns(seat.rank.id()));
  try {
    checks_.check(seat);
    if (!seat.ended) give_body(seat);
    checks_.check(seat);
  } catch (const RankEnded&) {
  } catch (...) {
    seat.exception = std::current_exception();
  }
  if (spread && seat.exception && !seat.ended) spread->tell_failure(seat.rank.id());
  ForkedChild::end(seat.exception);
  if (Rank::active() != &seat.rank)
    end_program({.run = *this,
                 .rank = seat.rank.id(),
                 .where = "engine/stack",
                 .reason = "was continued by another rank, by longjmp, setcontext or the like; "
                           "expected a rank to stay in its own body"});
  checks_.find_overflow(seat);
  try {
    take_turn(seat.rank);
  } catch (const RankEnded&) {
  }
  record({.rank = seat.rank.id(), .kind = EventKind::finish});
  seat.state = Seat::State::finished;
  seat.activity = nullptr;
  ++finished_;
  // A thread that failed keeps its seat, for the report.
  if (RankThreads::is_thread(options_, seat.rank.id()) && !seat.exception)
    threads_.end(seat.rank.id());
  turns_.leave(seat);
}

Deputies::IsBlocked Run::is_blocked() const {
  return [this](RankId id) { return seats_[id].state == Seat::State::blocked; };
}

bool Run::has_failed() const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [](const Seat& seat) { return seat.exception != nullptr; });
}

// Called when no rank can run. Gives up work that can't end any more, or else lets time pass, and
// returns whether some rank can run now. Once a rank has failed no time passes: the others may be
// polling for its work.
bool Run::lets_ranks_go_on() {
  if (turns_.picks().is_ending()) return false;
  std::vector<RankId> woken = deputies_.give_up_stranded(is_blocked());
  if (woken.empty() && !deadlines_.empty() && turns_.picks().has_run_dry() && !has_failed())
    woken = deadlines_.pass();
  if (!woken.empty()) touches_.stood_still();
  for (RankId id : woken) resume(seats_[id]);
  return !woken.empty();
}

bool Run::is_at_rest() const {
  return std::all_of(seats_.begin(), seats_.end(), [this](const Seat& seat) {
    if (seat.state == Seat::State::finished || seat.state == Seat::State::idle) return true;
    std::size_t crew = crew_of(options_, seat.rank.id());
    return crew > 0 && seat.state == Seat::State::blocked &&
           deputies_.is_stranded(crew, is_blocked());
  });
}

FailureReport Run::report() const {
  return FailureReport({options_, {seats_.data(), seats_.size()}, &threads_});
}

std::optional<Failure> Run::find_failure() {
  if (finished_ == seats_.size() || is_at_rest()) return report().of_rank();
  for (Seat& seat : seats_)
    if (seat.state != Seat::State::finished) checks_.find_overflow(seat);
  std::optional<Failure> failure = report().of_rank();
  // An exchange that another process ended is left half done.
  if (SpreadRun* spread = SpreadRun::of(*this); !failure && spread && spread->is_over())
    failure = Failure{.message = "[engine/spread] the run has ended in another process"};
  if (!failure) failure = report().of_standstill(turns_.picks());
  if (failure->kind == Failure::Kind::interrupt && step() > 0)
    Interrupt::tell(failure->message + "\n" + failure->details);
  return failure;
}

void Run::end_all() {
  SIMMESH_CHECK(!turns_.picks().is_ending(), "the run was ended, but some ranks wait again");
  turns_.picks().begin_ending(seats_.size());
  for (Seat& seat : seats_) {
    if (seat.state == Seat::State::finished) continue;
    seat.ended = true;
    turns_.make_runnable(seat);
  }
}

namespace {

// Returns the failure of a run for whose report there is no memory: the first rank that failed, or
// else the exception that is handled.
Failure failure_without_report(const std::vector<Seat>& seats) {
  Failure failure{.exception = std::current_exception()};
  auto failed = std::find_if(seats.begin(), seats.end(),
                             [](const Seat& seat) { return seat.exception != nullptr; });
  if (failed != seats.end()) {
    failure.rank = failed->rank.id();
    failure.exception = failed->exception;
  }
  return failure;
}

}  // namespace

// Work that failed without its rank being told is a failure of the run. The ranks' frames are still
// on their stacks, so nothing may be thrown before they have ended.
bool Run::settle() {
  try {
    if (lets_ranks_go_on()) return false;
    for (const Deputies::Work& work : deputies_.unheard())
      if (!seats_[work->deputy].exception) seats_[work->deputy].exception = work->error;
    if (!failure_) failure_ = find_failure();
  } catch (const std::bad_alloc&) {
    if (!failure_) failure_ = failure_without_report(seats_);
  }
  if (finished_ == seats_.size()) return true;
  try {
    end_all();
  } catch (const std::bad_alloc&) {
    end_program({.run = *this,
                 .where = "engine/memory",
                 .reason = "there is no memory left to end the ranks of a run that has failed",
                 .tells_of_others = false});
  }
  return false;
}

namespace {

// Takes into an outcome what the other processes know of a spread run.
void take_endings(Outcome& outcome, SpreadRun& spread, std::vector<Seat>& seats) {
  SpreadRun::Ending own{.failure = std::move(outcome.failure),
                        .copies_on_write = outcome.copies_on_write};
  for (Seat& seat : seats) {
    own.hashes.push_back(seat.rank.data_hash());
    own.peak_bytes.push_back(seat.rank.ledger().total().peak);
  }
  SpreadRun::Ending all = spread.end(std::move(own));
  FoldHash data;
  for (std::uint64_t hash : all.hashes) data.fold(hash);
  outcome.data_hash = data.value();
  outcome.peak_bytes = *std::max_element(all.peak_bytes.begin(),
                                         all.peak_bytes.begin() + std::ptrdiff_t(outcome.ranks));
  outcome.copies_on_write = all.copies_on_write;
  outcome.failure = std::move(all.failure);
}

}  // namespace

Outcome Run::outcome() {
  Outcome result;
  result.failure = std::move(failure_);
  add_rank_results(result, options_, seats_, threads_);
  if (SpreadRun* spread = SpreadRun::of(*this)) take_endings(result, *spread, seats_);
  result.schedule_hash = turns_.picks().hash();
  result.steps = step();
  result.physical_peak_bytes = resources_.memory->peak_bytes();
  result.choices = turns_.picks().take_choices();
  result.touches = touches_.sensitive();
  result.repro = {options_.program, options_.seed, options_.schedule.name()};
  write_trace_file({options_, result, resources_.trace, seats_});
  states_.clear();
  deputies_.drop();
  for (Seat& seat : seats_) seat.left.clear();
  result.live_storages = resources_.memory->live_uncharged() - uncharged_before_;
  for (Seat& seat : seats_) result.live_storages += seat.rank.ledger().live_storages();
  return result;
}

RankId Run::running_rank() const {
  for (const Seat& seat : seats_)
    if (seat.state == Seat::State::running) return seat.rank.id();
  return no_rank;
}

pthread_t Run::thread_of(RankId id) const {
  return id == no_rank ? turns_.lane(0).thread : seating_->thread_of(seats_[id]);
}

std::size_t Run::overflowed_stack_bytes(const std::byte* address) const {
  const StackArena* stacks = resources_.stacks.get();
  return stacks && stacks->is_in_gap(address) ? stacks->stack_bytes() : 0;
}

std::string Run::name_of_rank(RankId id) const { return report().name_of(id); }

std::string Run::describe_ranks(RankId except) const { return report().describe_ranks(except); }

}  // namespace simmesh
