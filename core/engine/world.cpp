#include "core/engine/world.h"

#include "core/check/error.h"
#include "core/engine/run/fiber_seats.h"
#include "core/engine/run/run.h"
#include "core/engine/run/thread_seats.h"

namespace simmesh {

namespace {

std::unique_ptr<Seats> make_seats(const WorldOptions& options) {
  if (options.ranks_are_threads) return std::make_unique<ThreadSeats>(options.thread_host);
  return std::make_unique<FiberSeats>();
}

}  // namespace

World::World(WorldOptions options) : options_(checked(std::move(options))) {}

World::~World() = default;

Outcome World::run(const std::function<void(Rank&)>& body) {
  if (running_)
    raise(ErrorKind::runtime_error, "engine/world",
          "expected a World that isn't running; a rank may run other Worlds, but not its own");
  running_ = true;
  try {
    if (!run_) run_ = std::make_unique<Run>(*this, options_, make_seats(options_));
    run_->start();
    run_->seats().run_all(*run_, body);
    Outcome outcome = run_->finish();
    running_ = false;
    return outcome;
  } catch (const RunGivenUp&) {
    run_->stop_watching();
    static_cast<void>(run_.release());
    throw;
  } catch (...) {
    running_ = false;
    run_.reset();
    throw;
  }
}

}  // namespace simmesh
