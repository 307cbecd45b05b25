#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

#include "core/check/call_site.h"
#include "core/engine/activity.h"

namespace simmesh {

class Rank;

// HelperWork is what a run keeps of work that a rank gave to a helper.
struct HelperWork final : Waitable {
  std::function<void()> work;
  RankId owner = no_rank, helper = no_rank;
  std::string helper_name;
  std::uint64_t number = 0;  // among those of the helper, from 1 on
  std::uint64_t object = 0;  // see Run::touch
  std::exception_ptr error = nullptr;
  bool is_done = false;
  bool is_lost = false;         // it can't end, for another helper of the crew has failed
  bool error_is_known = false;  // the rank has got it

  std::string group() const override { return helper_name; }
  std::string operand(RankId) const override { return {}; }
  std::vector<RankId> missing_ranks() const override { return {helper}; }
};

// HelperTask is work that a rank gave to a helper, for that rank; a cheap value.
class HelperTask {
 public:
  // is_done lets the schedule choose, and says whether the work has ended, well or not. has_failed
  // says whether it has failed so far.
  bool is_done(CallSite site = CallSite::here()) const;
  bool has_failed(CallSite site = CallSite::here()) const;

  // wait blocks until the work has ended, and throws what the work threw. Raises a RuntimeError
  // where the work can't end because a helper of the same number, of another rank, has failed: at
  // the moment when no rank and no helper can run.
  void wait(CallSite site = CallSite::here()) const;

 private:
  friend class Helper;
  explicit HelperTask(std::shared_ptr<HelperWork> work) : work_(std::move(work)) {}

  std::shared_ptr<HelperWork> work_;
};

// Helper is a fiber that works for a rank beside its body, as a thread or a process of a trainer
// does: it copies, or writes files, while the rank trains. A World gives each rank as many as
// WorldOptions::helpers says. The schedule chooses among ranks and helpers alike, so that every
// interleaving can be tried.
//
// All helpers of one number are a crew: inside of their work ProcessGroup::world() is the crew, in
// the order of the ranks, so they have collectives of their own. A run ends once all bodies have
// returned and no helper has work. Work that failed, without that its rank heard of it, is then the
// failure of the run.
//
//   World world({.ranks = 4, .helpers = 1});
//   world.run([](Rank&) {
//     HelperTask meeting = Helper::of_this_rank(0).start([] { barrier(ProcessGroup::world()); });
//     barrier(ProcessGroup::world());   // of the ranks, whenever the helpers meet
//     meeting.wait();
//   });
class Helper {
 public:
  // of_this_rank raises a ValueError where the world has fewer helpers, and a RuntimeError outside
  // World::run and in a helper.
  static Helper of_this_rank(std::size_t number);

  // start gives work to the helper, which does one after the other. Doesn't block.
  HelperTask start(std::function<void()> work) const;

 private:
  Helper(Rank& rank, RankId id) : rank_(&rank), id_(id) {}

  Rank* rank_;
  RankId id_;
};

}  // namespace simmesh
