#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "core/engine/options/world_options.h"
#include "core/engine/run/deputy_work.h"

namespace simmesh {

// Deputies keeps the work that the ranks of one run have given to their deputies: the work of each
// deputy, the ranks that wait for it, the work that failed, and the work that can't end because
// another deputy of the same crew has failed. It suspends and wakes nobody: its callers, who have
// the turn, do that.
//
// A crew is stranded if one of its deputies has failed, and another one is blocked in its own work
// of the same number: there the two would have met.
class Deputies {
 public:
  using Work = std::shared_ptr<DeputyWork>;

  explicit Deputies(const WorldOptions& options);

  // give puts work at the end of its deputy's list, and sets its number.
  void give(const Work& work);
  // begin takes the oldest work off a deputy's list; null for an empty list.
  Work begin(RankId deputy);
  // end marks work as done, with its error, null for none. Returns the rank that waits for the
  // work, and must be woken; no_rank for none.
  RankId end(const Work& work, std::exception_ptr error);

  // await notes that the owner of the work blocks until the work is over.
  void await(const Work& work);

  // IsBlocked is true for a deputy that is blocked. It is called when no rank can run.
  using IsBlocked = std::function<bool(RankId deputy)>;

  bool is_stranded(std::size_t crew, const IsBlocked& is_blocked) const;

  // give_up_stranded ends the work of stranded crews for which ranks wait, with a RuntimeError that
  // names the deputy that failed. Returns these ranks, which must be woken.
  std::vector<RankId> give_up_stranded(const IsBlocked& is_blocked);

  // unheard returns the work that failed and whose owner didn't hear of it, in the order of
  // failures.
  std::vector<Work> unheard() const;

  // drop empties the lists, also for everybody who still has such work.
  void drop();

 private:
  struct Desk {
    std::deque<Work> work;  // the oldest first
    std::uint64_t given = 0;
    std::uint64_t working_on = 0;  // the number of the newest work that was begun
  };

  Desk& desk_of(RankId deputy) { return desks_[deputy - options_.ranks]; }
  const Desk& desk_of(RankId deputy) const { return desks_[deputy - options_.ranks]; }
  const DeputyWork* failure_in(std::size_t crew, const IsBlocked& is_blocked) const;

  const WorldOptions& options_;
  std::vector<Desk> desks_;
  std::vector<Work> failed_;   // in the order of failures
  std::vector<Work> awaited_;  // in the order of waiting
};

}  // namespace simmesh
