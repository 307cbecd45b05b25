#include "core/engine/helper.h"

#include <algorithm>
#include <utility>

#include "core/check/error.h"
#include "core/engine/lane.h"
#include "core/engine/run.h"
#include "core/engine/world.h"

namespace simmesh {

Helper Helper::of_this_rank(std::size_t number) {
  Rank& rank = this_rank();
  const WorldOptions& options = rank.world().options();
  if (crew_of(options, rank.id()) > 0)
    raise(ErrorKind::runtime_error, "engine/helper",
          "{}: expected a rank's body to ask for a helper; a helper has none",
          name_of(options, rank.id()));
  if (number >= options.helpers)
    raise(ErrorKind::value_error, "engine/helper",
          "rank {}: expected a world with WorldOptions::helpers of at least {}, got {}", rank.id(),
          number + 1, options.helpers);
  return {rank, helper_id(options, rank.id(), number)};
}

HelperTask Helper::start(std::function<void()> work) const {
  auto given = std::make_shared<HelperWork>();
  given->work = std::move(work);
  given->owner = rank_->id();
  given->helper = id_;
  given->helper_name = name_of(rank_->world().options(), id_);
  rank_->run().give(*rank_, id_, given);
  return HelperTask(given);
}

bool HelperTask::is_done(CallSite site) const {
  Rank& rank = this_rank();
  rank.run().touch(rank, work_->object, site);
  rank.run().mark_all_order_sensitive();
  return work_->is_done || work_->is_lost;
}

bool HelperTask::has_failed(CallSite site) const {
  return is_done(site) && work_->error != nullptr;
}

void HelperTask::wait(CallSite site) const {
  Rank& rank = this_rank();
  rank.run().wait_for_work(rank, work_, site);
}

void Run::give(Rank& rank, RankId helper, std::shared_ptr<HelperWork> work) {
  take_turn(rank);
  Seat& seat = seats_[helper];
  FoldHash object(helper);
  work->number = ++seat.works_given;
  object.fold(work->number);
  work->object = object.value();
  seat.work.push_back(std::move(work));
  if (seat.state == Seat::State::idle) make_runnable(seat);
}

void Run::wait_for_work(Rank& rank, const std::shared_ptr<HelperWork>& work, const CallSite& site) {
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

// The body of a helper.
void Run::serve(Rank& helper) {
  Seat& seat = seats_[helper.id()];
  for (;;) {
    take_turn(helper);
    if (seat.work.empty()) {
      rest(seat);
      continue;
    }
    std::shared_ptr<HelperWork> work = std::move(seat.work.front());
    seat.work.pop_front();
    seat.working_on = work->number;
    std::exception_ptr error;
    try {
      work->work();
    } catch (const RankEnded&) {
      work->work = nullptr;
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    // What the work holds is gone before anybody hears of its end.
    work->work = nullptr;
    take_turn(helper);
    end_work(seat, work, error);
  }
}

void Run::rest(Seat& helper) {
  if (helper.ended) end_rank(helper);
  helper.state = Seat::State::idle;
  helper.lane->gives_up_turn = true;
  suspend(helper);
}

void Run::end_work(Seat& helper, const std::shared_ptr<HelperWork>& work,
                   std::exception_ptr error) {
  if (is_explored()) touch_within(helper.rank, work->object);
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

// Returns the failure that left helpers of a crew blocked in work of the same number; null where
// there is none, or all that failed had failed together. Asked when no rank can run.
const HelperWork* Run::what_broke(std::size_t crew) const {
  for (const std::shared_ptr<HelperWork>& work : failed_work_)
    for (const Seat& seat : seats_)
      if (crew_of(options_, work->helper) == crew && crew_of(options_, seat.rank.id()) == crew &&
          seat.state == Seat::State::blocked && seat.working_on == work->number)
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
  for (const std::shared_ptr<HelperWork>& work : std::exchange(awaited_work_, {})) {
    const HelperWork* failed = what_broke(crew_of(options_, work->helper));
    if (!failed) {
      awaited_work_.push_back(work);
      continue;
    }
    try {
      raise(ErrorKind::runtime_error, "engine/helper", "{} can't go on, for {} has failed: {}",
            work->helper_name, failed->helper_name, message_of(failed->error));
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
  for (Seat& seat : seats_)
    for (const std::shared_ptr<HelperWork>& work : seat.work) work->work = nullptr;
}

// What no rank has heard of is a failure of the run.
void Run::take_errors_of_work() {
  for (const std::shared_ptr<HelperWork>& work : failed_work_)
    if (!work->error_is_known && !seats_[work->helper].exception)
      seats_[work->helper].exception = work->error;
}

}  // namespace simmesh
