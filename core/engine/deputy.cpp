#include "core/engine/deputy.h"

#include <utility>

#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {

Deputy Deputy::of_this_rank(std::size_t number) {
  Rank& rank = this_rank();
  const WorldOptions& options = rank.world().options();
  if (crew_of(options, rank.id()) > 0)
    raise(ErrorKind::runtime_error, "engine/deputy",
          "{}: expected a rank's body to ask for a deputy; a deputy has none",
          name_of(options, rank.id()));
  if (number >= options.deputies)
    raise(ErrorKind::value_error, "engine/deputy",
          "rank {}: expected a world with WorldOptions::deputies of at least {}, got {}", rank.id(),
          number + 1, options.deputies);
  return {rank, deputy_id(options, rank.id(), number)};
}

DeputyTask Deputy::start(std::function<void()> work) const {
  auto given = std::make_shared<DeputyWork>();
  given->work = std::move(work);
  given->owner = rank_->id();
  given->deputy = id_;
  given->deputy_name = name_of(rank_->world().options(), id_);
  Run& run = rank_->run();
  run.take_turn(*rank_);
  run.deputies().give(given);
  run.touches().publish(rank_->id(), given->given());
  run.rouse(id_);
  return DeputyTask(given);
}

bool DeputyTask::is_done(CallSite site) const {
  Rank& rank = this_rank();
  Access access{work_->object, Access::Kind::ask};
  rank.run().touch(rank, {&access, 1}, site);
  rank.run().touches().mark_all_sensitive();
  return work_->is_over();
}

bool DeputyTask::has_failed(CallSite site) const {
  return is_done(site) && work_->error != nullptr;
}

void DeputyTask::wait(CallSite site) const {
  Rank& rank = this_rank();
  Run& run = rank.run();
  const Fault* fault = run.begin_operation(rank, "wait", site);
  if (fault && fault->kind == Fault::Kind::abandon) throw RankEnded();
  while (!work_->is_over()) {
    run.deputies().await(work_);
    run.block(rank, {.operation = "wait", .waits_for = work_.get(), .site = site});
    run.take_turn(rank);
  }
  run.touches().follow(rank.id(), work_->object);
  if (!work_->error) return;
  work_->error_is_known = true;
  std::rethrow_exception(work_->error);
}

}  // namespace simmesh
