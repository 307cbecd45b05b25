#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "zero/config/scheduler_config.h"

namespace simmesh::zero {

// GroupRates are the values that a schedule sets in the groups of an optimiser.
struct GroupRates {
  std::vector<double> learning_rates;
  std::vector<std::array<double, 2>> betas = {};  // empty where a schedule doesn't set them
};

// LrSchedule returns the rates at an iteration: -1 before the first applied step, then 0, 1 and so
// on. It is a pure function, computed in double with fixed bits, in the order of DeepSpeed's
// operations; logarithms and cosines may differ from those of its C library in the last place.
using LrSchedule = std::function<GroupRates(std::int64_t iteration)>;

// lr_schedule returns the schedule of a section scheduler for an optimiser whose groups have these
// learning rates at first. Raises a ValueError for a list that has another number of groups.
//
// With i the iteration and w = max(2, warmup_num_steps), the warm-up is g = log(i + 1) / log(w) or
// i / w, and 1 from i = w on. At -1 the rates are those of i = 0, or 0 in WarmupCosineLR.
// - WarmupLR: min + (max - min) g.
// - WarmupDecayLR: the same, where g falls from w on: max(0, (total - i) / max(1, total - w)).
// - WarmupCosineLR: the initial rate times min_ratio + (1 - min_ratio) g; from w on times cos_min +
//   (1 - cos_min) (1 + cos(pi c)) / 2 with c = min(1, (i - w + 1) / max(1, total - w)).
// - OneCycle: with n = i + 1 of a cycle of both halves, min + (max - min) s, where s rises from 0
//   to 1 in the first half and falls in the second; with a stair count of k, s = floor(s k) / k.
//   After the cycle, d = (i - cycle + 1) / decay_step_size, min / (1 + decay_lr_rate d); min where
//   step size or rate is 0. cycle_momentum gives beta1 as max - (max - min) s, at -1 min, and after
//   the cycle max (1 + decay_mom_rate d); beta2 is 0.99.
// - LRRangeTest: min (1 + step_rate (i + 1) / step_size), in stairs with the quotient's floor.
LrSchedule lr_schedule(const WarmupLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const WarmupDecayLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const WarmupCosineLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const OneCycle& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const LRRangeTest& config, const std::vector<double>& initial);

// by_group returns one number for each group. Raises a ValueError that names the key for a list
// that has another number of groups.
std::vector<double> by_group(const PerGroup& value, std::size_t groups, const char* key);

}  // namespace simmesh::zero
