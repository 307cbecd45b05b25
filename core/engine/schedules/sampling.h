#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/schedules/schedule.h"

namespace simmesh {

// pos_schedule gives each next event of a rank a random priority and lets the highest one happen;
// the events that depend on it get new ones (partial-order sampling: Yuan, Yang and Gu, CAV 2018).
// So orders that differ in nothing that matters share their chance. The random choices are by the
// World's seed, or by the given one: "pos:7".
//
// own_objects, if they are known, are those that one rank alone uses: see objects_of_one_rank.
// Events with no other objects have no order that matters, so the rank keeps its priority over
// them. If each had one of its own, a rank with many of them would hardly come before a rank with
// few.
Schedule pos_schedule();
Schedule pos_schedule(std::uint64_t seed, std::vector<std::uint64_t> own_objects = {});

// walk_schedule chooses at random, each rank by the number of steps that it still has ahead. So a
// rank with a long way isn't always the last one, and if the numbers are right each interleaving
// has the same chance. `steps` has the numbers by rank, 16 for those that are left out: "walk", or
// "walk:6,6,4". The random choices are by the World's seed.
Schedule walk_schedule(std::vector<std::uint64_t> steps = {});

// Reseed is the step of a run, counted from 0, at which its schedule gets another seed.
struct Reseed {
  std::uint64_t step = 0;
  std::uint64_t seed = 0;
};

// reseeded_schedule is a schedule that has another seed from a step on: it tells whether what a run
// has done so far leads to a failure, whatever comes after.
Schedule reseeded_schedule(const Schedule& schedule, const Reseed& reseed);

// steps_by_rank counts the choices of a run by rank, for walk_schedule.
std::vector<std::uint64_t> steps_by_rank(gsl::span<const RankId> choices);

}  // namespace simmesh
