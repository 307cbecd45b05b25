#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "zero/config/torch_scheduler_config.h"

namespace simmesh::zero {

// The structs here are the types of DeepSpeed's own of the section scheduler, and their fields its
// params, with its defaults. zero/config/lr_schedule.h says what each does to the learning rates.

// WarmupType is how learning rates rise: with the logarithm of the iteration, or linearly.
enum class WarmupType : std::uint8_t { log, linear };

// WarmupLR rises over warmup_num_steps, which count as 2 at least, and stays.
struct WarmupLR {
  PerGroup warmup_min_lr = 0.0;
  std::optional<PerGroup> warmup_max_lr = {};  // by default the optimiser's learning rates
  std::int64_t warmup_num_steps = 1000;
  WarmupType warmup_type = WarmupType::log;
  std::int64_t last_batch_iteration = -1;
};

// WarmupDecayLR rises and then falls linearly to warmup_min_lr at total_num_steps.
struct WarmupDecayLR {
  std::int64_t total_num_steps = 0;
  PerGroup warmup_min_lr = 0.0;
  std::optional<PerGroup> warmup_max_lr = 0.001;
  std::int64_t warmup_num_steps = 1000;
  WarmupType warmup_type = WarmupType::log;
  std::int64_t last_batch_iteration = -1;
};

// WarmupCosineLR rises to the optimiser's learning rates and then falls along half a cosine. Ratios
// are of these rates.
struct WarmupCosineLR {
  std::int64_t total_num_steps = 0;
  double warmup_min_ratio = 0.0;
  std::int64_t warmup_num_steps = 1000;
  double cos_min_ratio = 0.0001;
  WarmupType warmup_type = WarmupType::log;
  std::int64_t last_batch_iteration = -1;
};

// OneCycle rises, falls, and then decays. With cycle_momentum the betas of Adam do the opposite.
struct OneCycle {
  PerGroup cycle_min_lr = 0.0;
  PerGroup cycle_max_lr = 0.0;
  double decay_lr_rate = 0.0;
  double cycle_first_step_size = 2000;
  std::optional<double> cycle_second_step_size = {};  // by default as the first
  // The number of stairs in a half; 0 is a slope.
  std::int64_t cycle_first_stair_count = 0;
  std::optional<std::int64_t> cycle_second_stair_count = {};  // by default as the first
  double decay_step_size = 0;
  bool cycle_momentum = true;
  PerGroup cycle_min_mom = 0.8;
  PerGroup cycle_max_mom = 0.9;
  double decay_mom_rate = 0.0;
  std::int64_t last_batch_iteration = -1;
};

// LRRangeTest rises without end, on a slope or in stairs of lr_range_test_step_size iterations.
struct LRRangeTest {
  PerGroup lr_range_test_min_lr = 0.001;
  std::int64_t lr_range_test_step_size = 2000;
  double lr_range_test_step_rate = 1.0;
  bool lr_range_test_staircase = false;
  std::int64_t last_batch_iteration = -1;
};

using SchedulerConfig =
    std::variant<WarmupLR, WarmupDecayLR, WarmupCosineLR, OneCycle, LRRangeTest, StepLR,
                 MultiStepLR, ConstantLR, LinearLR, ExponentialLR, PolynomialLR, CosineAnnealingLR,
                 CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR>;

// is_torch_scheduler is true for a class of torch.optim.lr_scheduler. DeepSpeed can make these in
// stage 0 in float32 only, where no class of its own is around the optimiser.
bool is_torch_scheduler(const SchedulerConfig& scheduler);

}  // namespace simmesh::zero
