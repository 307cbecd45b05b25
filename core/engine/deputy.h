#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "core/check/call_site.h"
#include "core/engine/run/deputy_work.h"

namespace simmesh {

class Rank;

// DeputyTask is work that a rank gave to a deputy, for that rank; a cheap value.
class DeputyTask {
 public:
  // is_done lets the schedule choose, and is true if the work has ended, well or not. has_failed is
  // true if it has failed so far.
  bool is_done(CallSite site = CallSite::here()) const;
  bool has_failed(CallSite site = CallSite::here()) const;

  // wait blocks until the work has ended, and raises the error of the work. Raises a RuntimeError
  // where the work can't end because a deputy of the same number, of another rank, has failed: at
  // the moment when no rank and no deputy can run.
  void wait(CallSite site = CallSite::here()) const;

 private:
  friend class Deputy;
  explicit DeputyTask(std::shared_ptr<DeputyWork> work) : work_(std::move(work)) {}

  std::shared_ptr<DeputyWork> work_;
};

// Deputy is a fiber that works for a rank beside its body, as a thread or a process of a trainer
// does: it copies, or writes files, while the rank trains. A World gives each rank as many as
// WorldOptions::deputies says. The schedule chooses among ranks and deputies alike, so that every
// interleaving can be tried.
//
// All deputies of one number are a crew: inside of their work ProcessGroup::world() is the crew, in
// the order of the ranks, so they have collectives of their own. A run ends once all bodies have
// returned and no deputy has work. Work that failed, and whose rank didn't hear of it, is then the
// failure of the run.
//
//   World world({.ranks = 4, .deputies = 1});
//   world.run([](Rank&) {
//     DeputyTask meeting = Deputy::of_this_rank(0).start([] { barrier(ProcessGroup::world()); });
//     barrier(ProcessGroup::world());   // of the ranks, whenever the deputies meet
//     meeting.wait();
//   });
class Deputy {
 public:
  // of_this_rank raises a ValueError where the world has fewer deputies, and a RuntimeError outside
  // World::run and in a deputy.
  static Deputy of_this_rank(std::size_t number);

  // start gives work to the deputy, which does one piece after the other. Doesn't block.
  DeputyTask start(std::function<void()> work) const;

 private:
  Deputy(Rank& rank, RankId id) : rank_(&rank), id_(id) {}

  Rank* rank_;
  RankId id_;
};

}  // namespace simmesh
