#include <simmesh/core/check/error.h>
#include <simmesh/core/engine/run.h>
#include <simmesh/core/engine/world.h>

namespace simmesh {

namespace {

constexpr std::size_t ranks_max = std::size_t(1) << 24;
constexpr std::size_t threads_max = 1024;
constexpr std::size_t stack_bytes_min = 8 * 1024;

void check_between(const char* name, std::size_t value, std::size_t low, std::size_t high) {
  if (value < low || value > high)
    raise(ErrorKind::value_error, "engine/world", "expected {} between {} and {}, got {}", name,
          low, high, value);
}

}  // namespace

World::World(WorldOptions options) : options_(std::move(options)) {
  check_between("ranks", options_.ranks, 1, ranks_max);
  check_between("threads", options_.threads, 1, threads_max);
  check_between("stack_bytes", options_.stack_bytes, stack_bytes_min, std::size_t(1) << 30);
}

World::~World() = default;

Outcome World::run(const std::function<void(Rank&)>& body) {
  if (running_)
    raise(ErrorKind::runtime_error, "engine/world",
          "expected a World that isn't running; a rank may run other Worlds, but not its own");
  running_ = true;
  try {
    if (!run_) run_ = std::make_unique<Run>(*this);
    Outcome outcome = run_->execute(body);
    running_ = false;
    return outcome;
  } catch (...) {
    running_ = false;
    throw;
  }
}

}  // namespace simmesh
