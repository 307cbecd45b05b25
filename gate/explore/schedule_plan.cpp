#include "gate/explore/schedule_plan.h"

#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "core/engine/reports/own_objects.h"
#include "core/engine/schedules/random_stream.h"
#include "core/engine/schedules/sampling.h"

namespace simmesh {

namespace {

constexpr int depth_max = 3;
constexpr std::uint64_t steps_of_mixed = 16;  // of each rank, where pct:3 has its drops

// Returns the chance, in percent, that none of so many runs finds what each finds with a chance.
std::string escaped(double found, std::uint64_t runs) {
  return fmt::format("{:.2g} %", 100 * std::pow(1 - found, double(runs)));
}

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
      steps_in_all_(std::accumulate(steps_.begin(), steps_.end(), std::uint64_t(0))),
      own_objects_(objects_of_one_rank({first_run.touches.data(), first_run.touches.size()})) {}

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
      return with_seed(Schedule::pct({.depth = depth_of(number), .steps = steps_in_all_}), seed);
    case SchedulePolicyKind::pos: return pos_schedule(seed, own_objects_);
    case SchedulePolicyKind::walk: return with_seed(walk_schedule(steps_), seed);
  }
  return runner.schedule_at(number);
}

int SchedulePlan::depth_of(std::uint64_t number) const { return 1 + int((number - 1) % depth_max); }

std::string SchedulePlan::pct_text(std::uint64_t runs) const {
  auto ranks = double(steps_.size()), steps = double(steps_in_all_);
  std::string chances;
  for (int depth = 1; depth <= depth_max; ++depth) {
    std::uint64_t of_depth = 0;
    for (std::uint64_t i = 1; i < runs; ++i) of_depth += depth_of(i) == depth;
    if (depth > 1) chances += depth == depth_max ? " or " : ", ";
    chances += escaped(1 / (ranks * std::pow(steps, depth - 1)), of_depth);
  }
  return fmt::format(
      "a bug of depth 1, 2 or 3 is still there with a chance of at most {}: {} runs of pct:1, "
      "pct:2 "
      "and pct:3, {} ranks, {} steps",
      chances, runs - 1, steps_.size(), steps_in_all_);
}

std::string SchedulePlan::mixed_text(std::uint64_t runs) const {
  std::uint64_t steps = steps_of_mixed * choice_.ranks, of_pct = (runs - 1) / 2;
  double found = 1 / (double(choice_.ranks) * std::pow(double(steps), depth_max - 1));
  return fmt::format(
      "a bug of depth 3 that needs its turns in the first {} steps is still there with a chance of "
      "at most {}: {} runs of pct:3, {} ranks; no bound for other bugs",
      steps, escaped(found, of_pct), of_pct, choice_.ranks);
}

std::string SchedulePlan::schedule_text() const {
  auto ranks = double(steps_.size()), steps = double(steps_in_all_);
  double digits = 0;  // of the number of runs after which a schedule is expected
  std::string_view what = "schedule";
  std::string_view policy = "random";
  if (choice_.kind == SchedulePolicyKind::random) {
    digits = steps * std::log10(ranks);
  } else if (choice_.kind == SchedulePolicyKind::pos) {
    policy = "pos", what = "class of schedules";
    digits = steps * std::log10(steps);
  } else {
    policy = "walk";
    digits = std::lgamma(steps + 1) / std::log(10);
    for (std::uint64_t own : steps_) digits -= std::lgamma(double(own) + 1) / std::log(10);
  }
  return fmt::format(
      "no bound by depth for {}: a bug can hide behind any number of steps; a {} of {} steps of {} "
      "ranks has a chance of at least 10^-{:.0f} in each run",
      policy, what, steps_in_all_, steps_.size(), std::ceil(digits));
}

std::string SchedulePlan::escape_text(std::uint64_t runs) const {
  if (choice_.reseed_at) return "no bound: all schedules begin alike";
  if (choice_.kind == SchedulePolicyKind::mixed)
    return choice_.ranks == 0 || runs == 0 ? "" : mixed_text(runs);
  if (steps_in_all_ == 0 || runs == 0) return {};
  return choice_.kind == SchedulePolicyKind::pct ? pct_text(runs) : schedule_text();
}

}  // namespace simmesh
