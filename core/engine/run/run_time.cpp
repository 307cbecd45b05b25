#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/seats/lane.h"

namespace simmesh {

bool Run::block_until(Rank& rank, const Activity& activity, double deadline_seconds) {
  deadlines_.emplace(deadline_seconds, rank.id());
  block(rank, activity);
  take_turn(rank);
  deadlines_.erase({deadline_seconds, rank.id()});
  return timed_out_.erase(rank.id()) == 0;
}

void Run::sleep(Rank& rank, double seconds, const CallSite& site) {
  if (!(seconds >= 0))
    raise(ErrorKind::value_error, "engine/sleep",
          "rank {} at {}: expected a time of at least 0 s, got {}", rank.id(), to_string(site),
          seconds);
  begin_operation(rank, "sleep", site);
  block_until(rank, {.operation = "sleep", .site = site}, seconds_ + seconds);
}

namespace {

// Ranks that do nothing but sleep and look again would never end.
constexpr double seconds_max = 3600;

}  // namespace

// Says whether there was somebody to wake. Those whose deadlines are equal wake together. Once a
// rank has failed no time passes any more: the others may be polling for what it would have done.
bool Run::let_time_pass() {
  bool can_go_on = runnable_ == 0 && !is_interrupted_ && schedule_error_.empty();
  if (deadlines_.empty() || !can_go_on || deadlines_.begin()->first > seconds_max) return false;
  for (const Seat& seat : seats_)
    if (seat.exception) return false;
  seconds_ = deadlines_.begin()->first;
  while (!deadlines_.empty() && deadlines_.begin()->first == seconds_) {
    RankId id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    wake(id);
    timed_out_.insert(id);
  }
  return true;
}

}  // namespace simmesh
