#include "gate/schedule_plan.h"

#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "core/engine/schedules/random_stream.h"
#include "core/engine/schedules/sampling.h"

namespace simmesh {

namespace {

constexpr int pct_depth = 3;

// Returns the schedule with a seed of its own. The random streams of the ranks depend on the
// World's.
Schedule with_seed(const Schedule& schedule, std::uint64_t seed) {
  return Schedule::custom(fmt::format("{} with seed {}", schedule.name(), seed),
                          [schedule, seed](std::size_t ranks, std::uint64_t) {
                            return schedule.make_policy(ranks, seed);
                          });
}

}  // namespace

SchedulePlan::SchedulePlan(const Choice& choice, const Outcome& first_run)
    : choice_(choice),
      steps_(steps_by_rank({first_run.choices.data(), first_run.choices.size()})),
      steps_in_all_(std::accumulate(steps_.begin(), steps_.end(), std::uint64_t(0))) {}

Schedule SchedulePlan::at(std::uint64_t number, const GateRunner& runner) const {
  if (number == 0) return runner.schedule_at(0);
  std::uint64_t seed = RandomStream(choice_.seed, number).next();
  if (choice_.reseed_at) {
    Schedule first = runner.schedule_at(0);
    if (first.name() == "fifo") first = Schedule::seeded();
    return reseeded_schedule(first, {.step = *choice_.reseed_at, .seed = seed});
  }
  switch (choice_.kind) {
    case SchedulePolicyKind::mixed: break;
    case SchedulePolicyKind::random: return Schedule::seeded(seed);
    case SchedulePolicyKind::pct:
      return with_seed(Schedule::pct({.depth = pct_depth, .steps = steps_in_all_}), seed);
    case SchedulePolicyKind::pos: return pos_schedule(seed);
    case SchedulePolicyKind::walk: return with_seed(walk_schedule(steps_), seed);
  }
  return runner.schedule_at(number);
}

std::string SchedulePlan::escape_text(std::uint64_t runs) const {
  if (choice_.kind != SchedulePolicyKind::pct || choice_.reseed_at || steps_in_all_ == 0) return {};
  auto ranks = double(steps_.size()), steps = double(steps_in_all_);
  std::string chances;
  for (int depth = 1; depth <= pct_depth; ++depth) {
    double found = 1 / (ranks * std::pow(steps, depth - 1));
    double escaped = std::pow(1 - found, double(runs));
    chances += fmt::format("{}{:.2g} %",
                           depth == 1           ? ""
                           : depth == pct_depth ? " or "
                                                : ", ",
                           100 * escaped);
  }
  return fmt::format(
      "a bug of depth 1, 2 or 3 is still there with a chance of at most {}: {} runs of pct:{}, {} "
      "ranks, {} steps",
      chances, runs, pct_depth, steps_.size(), steps_in_all_);
}

}  // namespace simmesh
