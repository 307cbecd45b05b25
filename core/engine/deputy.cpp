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
  rank_->run().give(*rank_, id_, given);
  return DeputyTask(given);
}

bool DeputyTask::is_done(CallSite site) const {
  Rank& rank = this_rank();
  rank.run().touch(rank, work_->object, site);
  rank.run().mark_all_order_sensitive();
  return work_->is_done || work_->is_lost;
}

bool DeputyTask::has_failed(CallSite site) const {
  return is_done(site) && work_->error != nullptr;
}

void DeputyTask::wait(CallSite site) const {
  Rank& rank = this_rank();
  rank.run().wait_for_work(rank, work_, site);
}

}  // namespace simmesh
