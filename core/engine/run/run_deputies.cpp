#include <algorithm>
#include <utility>

#include "core/check/error.h"
#include "core/engine/run/deputy_work.h"
#include "core/engine/run/run.h"
#include "core/engine/seats/lane.h"

namespace simmesh {

void Run::give(Rank& rank, RankId deputy, std::shared_ptr<DeputyWork> work) {
  take_turn(rank);
  Seat& seat = seats_[deputy];
  FoldHash object(deputy);
  work->number = ++seat.desk->works_given;
  object.fold(work->number);
  work->object = object.value();
  seat.desk->work.push_back(std::move(work));
  if (seat.state == Seat::State::idle) make_runnable(seat);
}

void Run::wait_for_work(Rank& rank, const std::shared_ptr<DeputyWork>& work, const CallSite& site) {
  const Fault* fault = begin_operation(rank, "wait", site);
  if (fault && fault->kind == Fault::Kind::abandon) throw RankEnded();
  while (!work->is_done && !work->is_lost) {
    awaited_work_.push_back(work);
    block(rank, {.operation = "wait", .waits_for = work.get(), .site = site});
    take_turn(rank);
  }
  if (!work->error) return;
  work->error_is_known = true;
  std::rethrow_exception(work->error);
}

// The body of a deputy.
void Run::serve(Rank& deputy) {
  Seat& seat = seats_[deputy.id()];
  DeputyDesk& desk = *seat.desk;
  for (;;) {
    take_turn(deputy);
    if (desk.work.empty()) {
      rest(seat);
      continue;
    }
    std::shared_ptr<DeputyWork> work = std::move(desk.work.front());
    desk.work.pop_front();
    desk.working_on = work->number;
    std::exception_ptr error;
    try {
      work->work();
    } catch (const RankEnded&) {
      work->work = nullptr;
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    // Its captures are destroyed before anybody hears of its end.
    work->work = nullptr;
    take_turn(deputy);
    end_work(seat, work, error);
  }
}

void Run::rest(Seat& deputy) {
  if (deputy.ended) end_rank(deputy);
  deputy.state = Seat::State::idle;
  deputy.lane->gives_up_turn = true;
  seating_->suspend(deputy);
}

void Run::end_work(Seat& deputy, const std::shared_ptr<DeputyWork>& work,
                   std::exception_ptr error) {
  if (is_explored()) touch_within(deputy.rank, work->object);
  work->is_done = true;
  if (error && !work->is_lost) {
    work->error = std::move(error);
    failed_work_.push_back(work);
  }
  auto awaited = std::find(awaited_work_.begin(), awaited_work_.end(), work);
  if (awaited == awaited_work_.end()) return;
  awaited_work_.erase(awaited);
  wake(work->owner);
}

// Returns the failure that left deputies of a crew blocked in work of the same number; null where
// there is none, or all that failed had failed together. Asked when no rank can run.
const DeputyWork* Run::what_broke(std::size_t crew) const {
  for (const std::shared_ptr<DeputyWork>& work : failed_work_)
    for (const Seat& seat : seats_)
      if (crew_of(options_, work->deputy) == crew && crew_of(options_, seat.rank.id()) == crew &&
          seat.state == Seat::State::blocked && seat.desk->working_on == work->number)
        return work.get();
  return nullptr;
}

bool Run::is_at_rest(const Seat& seat) const {
  if (seat.state == Seat::State::finished || seat.state == Seat::State::idle) return true;
  std::size_t crew = crew_of(options_, seat.rank.id());
  return crew > 0 && seat.state == Seat::State::blocked && what_broke(crew);
}

bool Run::is_at_rest() const {
  return std::all_of(seats_.begin(), seats_.end(),
                     [this](const Seat& seat) { return is_at_rest(seat); });
}

// No rank can run: those that wait for work that can't end get an error. Says whether there are
// some.
bool Run::give_up_lost_work() {
  bool has_woken = false;
  for (const std::shared_ptr<DeputyWork>& work : std::exchange(awaited_work_, {})) {
    const DeputyWork* failed = what_broke(crew_of(options_, work->deputy));
    if (!failed) {
      awaited_work_.push_back(work);
      continue;
    }
    try {
      raise(ErrorKind::runtime_error, "engine/deputy", "{} can't go on, for {} has failed: {}",
            work->deputy_name, failed->deputy_name, message_of(failed->error));
    } catch (const Error&) {
      work->error = std::current_exception();
    }
    work->is_lost = true;
    wake(work->owner);
    has_woken = true;
  }
  return has_woken;
}

// Work that never began holds nothing any more, whoever asks for it.
void Run::drop_work() {
  for (Seat& seat : seats_) {
    if (!seat.desk) continue;
    for (const std::shared_ptr<DeputyWork>& work : seat.desk->work) work->work = nullptr;
  }
}

// An error that no rank has heard of is a failure of the run.
void Run::take_errors_of_work() {
  for (const std::shared_ptr<DeputyWork>& work : failed_work_)
    if (!work->error_is_known && !seats_[work->deputy].exception)
      seats_[work->deputy].exception = work->error;
}

}  // namespace simmesh
