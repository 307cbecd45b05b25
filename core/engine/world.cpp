#include "core/engine/world.h"

#include "core/check/error.h"
#include "core/engine/reports/crash_report.h"
#include "core/engine/run/run.h"
#include "core/engine/seats/thread_host.h"

namespace simmesh {

World::World(WorldOptions options) : options_(checked(std::move(options))) {}

World::~World() = default;

Outcome World::run(const std::function<void(Rank&)>& body) {
  expect_own_stack();
  if (running_)
    raise(ErrorKind::runtime_error, "engine/world",
          "expected a World that isn't running; a rank may run other Worlds, but not its own");
  running_ = true;
  std::unique_ptr<Run> run;
  try {
    if (!resources_) resources_ = std::make_unique<RunResources>(options_);
    run = std::make_unique<Run>(*this, options_, *resources_, body);
    Outcome outcome = run->run_ranks();
    running_ = false;
    return outcome;
  } catch (const RunGivenUp&) {
    // The threads of its ranks still use all parts of the run.
    run->stop_watching();
    static_cast<void>(run.release());
    static_cast<void>(resources_.release());
    throw;
  } catch (...) {
    running_ = false;
    run.reset();
    resources_.reset();
    throw;
  }
}

}  // namespace simmesh
