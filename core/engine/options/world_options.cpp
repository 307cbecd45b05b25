#include "core/engine/options/world_options.h"

#include <algorithm>
#include <cmath>

#include "core/check/error.h"
#include "core/engine/fibers/fiber_switch.h"

namespace simmesh {

namespace {

constexpr std::size_t ranks_max = std::size_t(1) << 24;
constexpr std::size_t threads_max = 1024;
constexpr std::size_t thread_ranks_max = 4096;
constexpr std::size_t deputies_max = 16;
constexpr std::size_t stack_bytes_min = 8 * 1024;

// Address space and page tables are plenty in a small world only. Frames are larger under the
// address sanitizer, and so are stacks.
std::size_t default_stack_bytes(std::size_t ranks) {
  constexpr std::size_t kibibyte = 1024;
  std::size_t larger = FiberIdentity::is_watched() ? 4 : 1;
  if (ranks <= 4096) return larger * 1024 * kibibyte;
  if (ranks <= 65536) return larger * 256 * kibibyte;
  return larger * 64 * kibibyte;
}

void check_between(const char* name, std::size_t value, std::size_t low, std::size_t high) {
  if (value < low || value > high)
    raise(ErrorKind::value_error, "engine/world", "expected {} between {} and {}, got {}", name,
          low, high, value);
}

// Returns the ranks that run in place of all: sorted, each once. None if all run.
std::vector<RankId> checked_representatives(const WorldOptions& options) {
  if (!options.fold) {
    if (!options.folded_onto.empty())
      raise(ErrorKind::value_error, "engine/world", "expected fold where folded_onto is given");
    return {};
  }
  if (!options.shapes_only)
    raise(ErrorKind::value_error, "engine/world",
          "expected shapes_only in a folded world: ranks that aren't run have no data to give");
  if (options.deputies > 0)
    raise(ErrorKind::value_error, "engine/world",
          "expected no deputies in a folded world, got {}: those of ranks that aren't run would be "
          "missing",
          options.deputies);
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

void check_pairs(const WorldOptions& options) {
  const std::vector<RankId>& ranks = options.folded_onto;
  for (const auto& [a, b] : options.folded_alike)
    for (RankId rank : {a, b})
      if (!std::binary_search(ranks.begin(), ranks.end(), rank))
        raise(ErrorKind::value_error, "engine/world",
              "expected pairs of ranks of folded_onto in folded_alike, got rank {}", rank);
}

}  // namespace

WorldOptions checked(WorldOptions options) {
  check_between("ranks", options.ranks, 1, ranks_max);
  check_between("threads", options.threads, 1, threads_max);
  if (options.ranks_are_threads) {
    check_between("ranks that are threads", options.ranks, 1, thread_ranks_max);
    check_between("threads of ranks that are threads", options.threads, 1, 1);
  }
  check_between("deputies", options.deputies, 0, deputies_max);
  check_between("ranks and deputies", fibers(options), 1, ranks_max);
  if (options.stack_bytes == 0) options.stack_bytes = default_stack_bytes(fibers(options));
  check_between("stack_bytes", options.stack_bytes, stack_bytes_min, std::size_t(1) << 30);
  if (!(options.timeout_seconds >= 0) || std::isinf(options.timeout_seconds))
    raise(ErrorKind::value_error, "engine/world",
          "expected timeout_seconds that are finite and not negative, got {}",
          options.timeout_seconds);
  options.folded_onto = checked_representatives(options);
  check_pairs(options);
  return options;
}

bool runs(const WorldOptions& options, RankId rank) {
  const std::vector<RankId>& ranks = options.folded_onto;
  return ranks.empty() || std::binary_search(ranks.begin(), ranks.end(), rank);
}

RankId deputy_id(const WorldOptions& options, RankId rank, std::size_t deputy) {
  return RankId(options.ranks * (deputy + 1) + rank);
}

RankId rank_behind(const WorldOptions& options, RankId id) {
  return id == no_rank ? no_rank : RankId(id % options.ranks);
}

std::size_t crew_of(const WorldOptions& options, RankId id) { return id / options.ranks; }

std::string name_of(const WorldOptions& options, RankId id) {
  if (id < options.ranks) return fmt::format("rank {}", id);
  return fmt::format("deputy {} of rank {}", crew_of(options, id) - 1, rank_behind(options, id));
}

std::size_t fibers(const WorldOptions& options) { return options.ranks * (options.deputies + 1); }

}  // namespace simmesh
