#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace simmesh::zero {

// PerGroup is one number for all groups of the optimiser, or a list of one for each.
using PerGroup = std::variant<double, std::vector<double>>;

// The structs here are classes of torch.optim.lr_scheduler that a section scheduler may name, and
// their fields its params, with PyTorch's defaults. zero/config/lr_schedule.h says what each does
// to the learning rates. last_epoch must be -1: PyTorch continues from another only with state that
// a file doesn't have.

// StepLR multiplies by gamma every step_size steps.
struct StepLR {
  std::int64_t step_size = 0;
  double gamma = 0.1;
  std::int64_t last_epoch = -1;
};

// MultiStepLR multiplies by gamma at each milestone.
struct MultiStepLR {
  std::vector<std::int64_t> milestones = {};
  double gamma = 0.1;
  std::int64_t last_epoch = -1;
};

// ConstantLR multiplies by a factor for total_iters steps.
struct ConstantLR {
  double factor = 1.0 / 3;
  std::int64_t total_iters = 5;
  std::int64_t last_epoch = -1;
};

// LinearLR goes from one factor to another in total_iters steps.
struct LinearLR {
  double start_factor = 1.0 / 3;
  double end_factor = 1.0;
  std::int64_t total_iters = 5;
  std::int64_t last_epoch = -1;
};

// ExponentialLR multiplies by gamma in each step.
struct ExponentialLR {
  double gamma = 0.0;
  std::int64_t last_epoch = -1;
};

// PolynomialLR falls to 0 in total_iters steps.
struct PolynomialLR {
  std::int64_t total_iters = 5;
  double power = 1.0;
  std::int64_t last_epoch = -1;
};

// CosineAnnealingLR falls along a cosine to eta_min at step T_max, and rises again after it.
struct CosineAnnealingLR {
  std::int64_t T_max = 0;
  double eta_min = 0.0;
  std::int64_t last_epoch = -1;
};

// CosineAnnealingWarmRestarts falls along half a cosine for T_0 steps, and starts again; each time
// T_mult times as long.
struct CosineAnnealingWarmRestarts {
  std::int64_t T_0 = 0;
  std::int64_t T_mult = 1;
  double eta_min = 0.0;
  std::int64_t last_epoch = -1;
};

// CyclicLR rises and falls again and again. With cycle_momentum the momentum does the opposite.
struct CyclicLR {
  PerGroup base_lr = 0.0;
  PerGroup max_lr = 0.0;
  double step_size_up = 2000;
  std::optional<double> step_size_down = {};  // by default as step_size_up
  std::string mode = "triangular";            // or "triangular2" or "exp_range"
  double gamma = 1.0;
  std::string scale_mode = "cycle";  // or "iterations": what the mode counts
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.8;
  PerGroup max_momentum = 0.9;
  std::int64_t last_epoch = -1;
};

// OneCycleLR rises to max_lr in the first pct_start of all steps, and falls in the others. Given
// are total_steps, or epochs and steps_per_epoch.
struct OneCycleLR {
  PerGroup max_lr = 0.0;
  std::optional<std::int64_t> total_steps = {};
  std::optional<std::int64_t> epochs = {};
  std::optional<std::int64_t> steps_per_epoch = {};
  double pct_start = 0.3;
  std::string anneal_strategy = "cos";  // or "linear"
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.85;
  PerGroup max_momentum = 0.95;
  double div_factor = 25.0;
  double final_div_factor = 1e4;
  bool three_phase = false;
  std::int64_t last_epoch = -1;
};

}  // namespace simmesh::zero
