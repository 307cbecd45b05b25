#include <algorithm>

#include "core/arithmetic/functions.h"
#include "zero/config/lr_schedule.h"

namespace simmesh::zero {

namespace {

// Warmup is the rising part that the three schedules share.
class Warmup {
 public:
  Warmup(std::int64_t steps, WarmupType type)
      : steps_(std::max<std::int64_t>(2, steps)),
        type_(type),
        inverse_log_(1.0 / apply_function(Function::log, double(steps_))) {}

  std::int64_t steps() const { return steps_; }
  bool holds(std::int64_t iteration) const { return iteration < steps_; }
  double ratio(std::int64_t iteration) const {
    return type_ == WarmupType::log
               ? inverse_log_ * apply_function(Function::log, double(iteration + 1))
               : double(iteration) / double(steps_);
  }

 private:
  std::int64_t steps_;
  WarmupType type_;
  double inverse_log_;
};

// Interpolates each group's rate from min to max; ratio(iteration) is in [0, 1].
template <class Ratio>
LrSchedule between(std::vector<double> min, const std::vector<double>& max, Ratio ratio) {
  std::vector<double> delta(min.size());
  for (std::size_t i = 0; i < min.size(); ++i) delta[i] = max[i] - min[i];
  return [min = std::move(min), delta = std::move(delta), ratio](std::int64_t iteration) {
    GroupRates rates{.learning_rates = min};
    if (iteration < 0) return rates;
    double part = ratio(iteration);
    for (std::size_t i = 0; i < min.size(); ++i) rates.learning_rates[i] = min[i] + delta[i] * part;
    return rates;
  };
}

template <class Config>
LrSchedule between_bounds(const Config& config, const std::vector<double>& initial,
                          std::function<double(std::int64_t)> ratio) {
  std::vector<double> max = config.warmup_max_lr
                                ? by_group(*config.warmup_max_lr, initial.size(), "warmup_max_lr")
                                : initial;
  return between(by_group(config.warmup_min_lr, initial.size(), "warmup_min_lr"), max,
                 std::move(ratio));
}

double cosine_ratio(const WarmupCosineLR& config, const Warmup& warmup, std::int64_t iteration) {
  constexpr double pi = 3.14159265358979323846;
  double last = double(iteration - warmup.steps() + 1);
  double total = double(std::max<std::int64_t>(1, config.total_num_steps - warmup.steps()));
  double height = (1 + apply_function(Function::cos, pi * std::min(1.0, last / total))) / 2;
  return std::max(0.0, config.cos_min_ratio + (1.0 - config.cos_min_ratio) * height);
}

}  // namespace

LrSchedule lr_schedule(const WarmupLR& config, const std::vector<double>& initial) {
  Warmup warmup(config.warmup_num_steps, config.warmup_type);
  return between_bounds(config, initial, [warmup](std::int64_t iteration) {
    return warmup.holds(iteration) ? warmup.ratio(iteration) : 1.0;
  });
}

LrSchedule lr_schedule(const WarmupDecayLR& config, const std::vector<double>& initial) {
  Warmup warmup(config.warmup_num_steps, config.warmup_type);
  std::int64_t total = config.total_num_steps;
  return between_bounds(config, initial, [warmup, total](std::int64_t iteration) {
    if (warmup.holds(iteration)) return warmup.ratio(iteration);
    double window = std::max(1.0, double(total - warmup.steps()));
    return std::max(0.0, double(total - iteration) / window);
  });
}

LrSchedule lr_schedule(const WarmupCosineLR& config, const std::vector<double>& initial) {
  Warmup warmup(config.warmup_num_steps, config.warmup_type);
  return [config, warmup, initial](std::int64_t iteration) {
    double ratio = 0.0;
    if (iteration >= 0)
      ratio =
          warmup.holds(iteration)
              ? config.warmup_min_ratio + warmup.ratio(iteration) * (1.0 - config.warmup_min_ratio)
              : cosine_ratio(config, warmup, iteration);
    GroupRates rates{.learning_rates = initial};
    for (double& rate : rates.learning_rates) rate *= ratio;
    return rates;
  };
}

}  // namespace simmesh::zero
