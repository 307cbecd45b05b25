#include <fmt/format.h>
#include <memory>
#include <utility>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/frames.h"
#include "core/engine/reports/crash_report.h"
#include "core/engine/reports/interrupt.h"
#include "core/engine/run/run.h"
#include "core/engine/seats/forked_child.h"

namespace simmesh {

namespace {

// A handler that catches everything may be in a loop around an operation.
constexpr std::uint8_t times_ended_max = 200;

// Raises if a rank is used by another rank, or by a thread that runs none.
void expect_own(const Rank& rank, const CallSite& site) {
  const Rank* user = Rank::active();
  if (user == &rank) [[likely]]
    return;
  raise(ErrorKind::runtime_error, "engine/rank",
        "at {}: expected rank {} to be used in its own body, got it used by {}", to_string(site),
        rank.id(), user ? fmt::format("rank {}", user->id()) : "a thread that runs no rank");
}

}  // namespace

// Forwards the calls of a rank to its run, which rank.h doesn't know.
World& Rank::world() { return run_->world(); }
void Rank::yield(CallSite site) {
  expect_own(*this, site);
  run_->yield(*this, site);
}
void Rank::sleep(double seconds, CallSite site) {
  expect_own(*this, site);
  run_->sleep(*this, seconds, site);
}
double Rank::seconds() const { return run_->seconds(); }
void Rank::heartbeat(CallSite site) { run_->heartbeat(*this, site); }

void Run::take_turn(Rank& rank) {
  ForkedChild::refuse();
  Seat& seat = seats_[rank.id()];
  turns_.take(seat);
  if (!seat.left.empty()) [[unlikely]]
    seat.left.clear();
  if (seat.ended) end_rank(seat);
}

void Run::leave_to(RankId rank, std::shared_ptr<const void> started) {
  if (seats_[rank].state != Seat::State::finished) seats_[rank].left.push_back(std::move(started));
}

// With several threads ranks end one after the other, each in its turn: as they unwind, they take
// themselves out of lists that ranks share.
SIMMESH_OWN_FRAME void Run::end_rank(Seat& seat) {
  turns_.take(seat);
  if (++seat.times_ended < times_ended_max) throw RankEnded();
  std::string reason = fmt::format(
      "began operations {} times more after its run had ended; expected `catch (...)` to throw on, "
      "so that the rank can end. The run ended because: {}",
      times_ended_max, failure_ ? failure_->message : "unknown");
  end_program({.run = *this, .rank = seat.rank.id(), .where = "engine/ended", .reason = reason});
}

const Fault* Run::begin_operation(Rank& rank, const char* operation, const CallSite& site) {
  expect_own_stack();
  take_turn(rank);
  Seat& seat = seats_[rank.id()];
  // Every switch follows an operation or a yield. Here the rank is in nobody's list yet, so it can
  // still fail cleanly.
  checks_.check(seat);
  rank.count_operation();
  seat.last_operation = {operation, site};
  return operation_faults_.empty() ? nullptr : fault_at(rank, operation, site);
}

SIMMESH_OWN_FRAME const Fault* Run::fault_at(Rank& rank, const char* operation,
                                             const CallSite& site) {
  for (const Fault& fault : operation_faults_) {
    if (fault.rank != rank.id() || fault.at != rank.operations()) continue;
    record({.rank = rank.id(), .kind = EventKind::fault, .operation = operation, .site = site});
    if (fault.kind == Fault::Kind::kill)
      raise(ErrorKind::runtime_error, "engine/fault",
            "{} was killed (injected) at its operation {}, {} at {}", name_of(options_, rank.id()),
            rank.operations(), operation, to_string(site));
    return &fault;
  }
  return nullptr;
}

// The frames in which a rank waits are read again when it continues: the fewer the better.
SIMMESH_ONE_FRAME void Run::block(Rank& rank, const Activity& activity) {
  Seat& seat = seats_[rank.id()];
  if (seat.ended) end_rank(seat);
  SIMMESH_CHECK(turns_.has(seat), "rank {} blocks without the turn", rank.id());
  seat.state = Seat::State::blocked;
  seat.activity = &activity;
  turns_.give_up(seat);
  if (seat.ended) end_rank(seat);
}

bool Run::block_until(Rank& rank, const Activity& activity, double deadline_seconds) {
  deadlines_.add(rank.id(), deadline_seconds);
  try {
    block(rank, activity);
    take_turn(rank);
  } catch (...) {
    deadlines_.remove(rank.id(), deadline_seconds);
    throw;
  }
  return deadlines_.remove(rank.id(), deadline_seconds);
}

void Run::wake(RankId id) {
  if (deadlines_.has_come(id)) [[unlikely]]
    return;
  resume(seats_[id]);
}

void Run::resume(Seat& seat) {
  SIMMESH_CHECK(seat.state == Seat::State::blocked, "rank {} is woken, but it isn't blocked",
                seat.rank.id());
  seat.activity = nullptr;
  turns_.make_runnable(seat);
}

void Run::rest(Rank& deputy) {
  Seat& seat = seats_[deputy.id()];
  if (seat.ended) end_rank(seat);
  seat.state = Seat::State::idle;
  turns_.give_up(seat);
}

void Run::rouse(RankId deputy) {
  Seat& seat = seats_[deputy];
  if (seat.state == Seat::State::idle) turns_.make_runnable(seat);
}

// Seats of threads are those of all ranks for a number, so that a thread's number says whose it is.
Seat& Run::thread_seat(RankId id) {
  while (seats_.size() <= id) {
    seats_.push_back(make_seat(RankId(seats_.size())));
    seats_.back().lane = seats_.front().lane;
    ++finished_;
  }
  return seats_[id];
}

RankId Run::start_thread(Rank& rank, ThreadWork work) {
  take_turn(rank);
  if (!options_.ranks_are_threads)
    raise(ErrorKind::runtime_error, "engine/threads",
          "{}: expected a world whose ranks are threads, got fibers; they have deputies instead",
          name_of(options_, rank.id()));
  RankId id = threads_.begin(rank_behind(options_, rank.id()), std::move(work));
  Seat& seat = thread_seat(id);
  Lane* lane = seat.lane;
  std::destroy_at(&seat);
  std::construct_at(&seat, make_seat(id));
  seat.lane = lane;
  try {
    seating_->start(seat);
  } catch (...) {
    threads_.end(id);
    throw;
  }
  --finished_;
  turns_.make_runnable(seat);
  return id;
}

void Run::end_threads(Rank& rank) {
  take_turn(rank);
  for (RankId id : threads_.of_rank(rank_behind(options_, rank.id()))) {
    Seat& seat = seats_[id];
    if (id == rank.id() || seat.exception) continue;
    seat.ended = true;
    if (seat.state == Seat::State::blocked) resume(seat);
  }
}

void Run::record_result(Rank& rank, std::uint64_t word) {
  if (RankThreads::is_thread(options_, rank.id()))
    threads_.add_result(rank_behind(options_, rank.id()), word);
  else
    rank.record(word);
}

void Run::yield(Rank& rank, const CallSite& site) {
  expect_own_stack();
  take_turn(rank);
  Seat& seat = seats_[rank.id()];
  checks_.check(seat);
  record({.rank = rank.id(), .kind = EventKind::yield, .operation = "yield", .site = site});
  turns_.make_runnable(seat);
  turns_.give_up(seat);
  if (seat.ended) end_rank(seat);
}

void Run::touch(Rank& rank, gsl::span<const Access> accesses, const CallSite& site) {
  take_turn(rank);
  touches_.announce(rank.id(), accesses);
  yield(rank, site);
  take_turn(rank);
  for (const Access& access : accesses) touches_.add(rank.id(), access.object);
}

void Run::touch(Rank& rank, std::uint64_t object, const CallSite& site) {
  Access access{object, Access::Kind::change};
  touch(rank, {&access, 1}, site);
}

void Run::touch_in_step(Rank& rank, const Access& access, const CallSite& site) {
  if (touches_.splits_steps())
    touch(rank, {&access, 1}, site);
  else if (touches_.is_listened_to())
    touches_.add(rank.id(), access.object);
}

void Run::look_late(Rank& rank, std::uint64_t object, const CallSite& site) {
  touches_.mark_all_sensitive();
  Access access{object, Access::Kind::ask};
  if (touches_.splits_steps())
    touch(rank, {&access, 1}, site);
  else
    touches_.add(rank.id(), object);
}

void Run::sleep(Rank& rank, double seconds, const CallSite& site) {
  if (!(seconds >= 0))
    raise(ErrorKind::value_error, "engine/sleep",
          "rank {} at {}: expected a time of at least 0 s, got {}", rank.id(), to_string(site),
          seconds);
  begin_operation(rank, "sleep", site);
  block_until(rank, {.operation = "sleep", .site = site}, deadlines_.seconds() + seconds);
}

void Run::heartbeat(Rank& rank, const CallSite& site) {
  heartbeats_.fetch_add(1, std::memory_order_relaxed);
  if (Interrupt::requested()) yield(rank, site);
}

}  // namespace simmesh
