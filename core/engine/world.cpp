#include "core/engine/world.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/engine/run.h"

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

// The ranks that run in place of all: sorted, each once. None where all run.
std::vector<RankId> checked_representatives(const WorldOptions& options) {
  if (!options.fold) {
    if (!options.folded_onto.empty())
      raise(ErrorKind::value_error, "engine/world", "expected fold where folded_onto is given");
    return {};
  }
  if (!options.shapes_only)
    raise(ErrorKind::value_error, "engine/world",
          "expected shapes_only in a folded world: ranks that aren't run have no data to give");
  std::vector<RankId> ranks = options.folded_onto;
  if (ranks.empty()) ranks = {0, RankId(options.ranks - 1)};
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.back() >= options.ranks)
    raise(ErrorKind::value_error, "engine/world",
          "expected folded_onto below the {} ranks of the world, got {}", options.ranks,
          ranks.back());
  return ranks;
}

}  // namespace

World::World(WorldOptions options) : options_(std::move(options)) {
  check_between("ranks", options_.ranks, 1, ranks_max);
  check_between("threads", options_.threads, 1, threads_max);
  check_between("stack_bytes", options_.stack_bytes, stack_bytes_min, std::size_t(1) << 30);
  options_.folded_onto = checked_representatives(options_);
}

bool World::runs(RankId rank) const {
  const std::vector<RankId>& ranks = representatives();
  return ranks.empty() || std::binary_search(ranks.begin(), ranks.end(), rank);
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
