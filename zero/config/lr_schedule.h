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
  // Each is empty where a schedule doesn't set it: both betas, or beta1 or the momentum alone.
  std::vector<std::array<double, 2>> betas = {};
  std::vector<double> momenta = {};
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

// The schedules of PyTorch. e = i + 1 is their last_epoch, 0 before the first applied step. As in
// PyTorch most follow from the rate before, so that they may be off a closed form by roundings.
// - StepLR: times gamma where e is a multiple of step_size. ExponentialLR: times gamma.
// - MultiStepLR: times gamma to the power of the number of milestones at e.
// - ConstantLR: at 0 times factor, at total_iters times 1 / factor.
// - LinearLR: at 0 times start; up to total_iters times 1 + (end - start) / (total_iters start +
//   (e - 1) (end - start)).
// - PolynomialLR: with l(e) = 1 - e / total_iters, up to total_iters times (l(e) / l(e - 1))^power.
// - CosineAnnealingLR: with c(e) = 1 + cos(pi e / T_max), eta_min + (rate - eta_min) c(e) / c(e-1).
//   Where c(e - 1) is 0, rate + (initial - eta_min) (1 - cos(pi / T_max)) / 2.
// - CosineAnnealingWarmRestarts: eta_min + (initial - eta_min) (1 + cos(pi t / T)) / 2, t steps
//   after the last restart. The distance T of restarts is T_0 and grows by T_mult.
// - CyclicLR: base + (max - base) s f, where s rises from 0 to 1 and falls. f is 1; for triangular2
//   1 / 2^(n - 1) in cycle n; for exp_range gamma^n. With scale_mode iterations n is e.
// - OneCycleLR: from max / div_factor to max at step pct_start total - 1, then to the first of them
//   over final_div_factor at step total - 1; with three_phase back to the first before that. It
//   goes along half a cosine or a line. A step beyond total raises a ValueError.
// The last two give the momentum: max where the rate is least, base where it is largest.
LrSchedule lr_schedule(const StepLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const MultiStepLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const ConstantLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const LinearLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const ExponentialLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const PolynomialLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const CosineAnnealingLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const CosineAnnealingWarmRestarts& config,
                       const std::vector<double>& initial);
LrSchedule lr_schedule(const CyclicLR& config, const std::vector<double>& initial);
LrSchedule lr_schedule(const OneCycleLR& config, const std::vector<double>& initial);

// by_group returns one number for each group. Raises a ValueError that names the key for a list
// that has another number of groups.
std::vector<double> by_group(const PerGroup& value, std::size_t groups, const char* key);

}  // namespace simmesh::zero
