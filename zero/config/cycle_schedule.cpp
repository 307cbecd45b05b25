#include <cmath>

#include "zero/config/lr_schedule.h"

namespace simmesh::zero {

namespace {

// Cycle is the shape of OneCycle: its height at an iteration, from 0 to 1.
class Cycle {
 public:
  explicit Cycle(const OneCycle& config)
      : first_(config.cycle_first_step_size),
        second_(config.cycle_second_step_size.value_or(first_)),
        first_stairs_(double(config.cycle_first_stair_count)),
        second_stairs_(
            double(config.cycle_second_stair_count.value_or(config.cycle_first_stair_count))) {}

  double size() const { return first_ + second_; }

  double height(std::int64_t iteration) const {
    double place = double(iteration + 1);
    double cycle = std::floor(1 + place / size());
    double part = 1.0 + place / size() - cycle, ratio = first_ / size();
    bool rises = part <= ratio;
    double stairs = rises ? first_stairs_ : second_stairs_;
    if (stairs > 0) return stair(std::fmod(place, size()), stairs);
    return rises ? part / ratio : (part - 1) / (ratio - 1);
  }

 private:
  double stair(double place, double stairs) const {
    double position =
        place <= first_ ? place * stairs / first_ : (size() - place) * stairs / second_;
    return std::floor(position) / stairs;
  }

  double first_, second_;
  double first_stairs_, second_stairs_;
};

constexpr double cycle_beta2 = 0.99;

struct OneCycleRates {
  OneCycle config;
  Cycle cycle;
  std::vector<double> min_lr, max_lr, min_mom, max_mom;

  bool is_over(std::int64_t iteration) const { return double(iteration) >= cycle.size(); }

  // Returns how far the decay has gone; 0 where there is none.
  double decay(std::int64_t iteration, double rate) const {
    if (config.decay_step_size == 0 || rate == 0) return 0.0;
    return (double(iteration) - cycle.size() + 1) / config.decay_step_size;
  }

  double learning_rate(std::int64_t iteration, std::size_t group) const {
    if (iteration < 0) return min_lr[group];
    if (is_over(iteration))
      return min_lr[group] / (1 + config.decay_lr_rate * decay(iteration, config.decay_lr_rate));
    return min_lr[group] + (max_lr[group] - min_lr[group]) * cycle.height(iteration);
  }

  double momentum(std::int64_t iteration, std::size_t group) const {
    if (iteration < 0) return min_mom[group];
    if (is_over(iteration))
      return max_mom[group] * (1 + config.decay_mom_rate * decay(iteration, config.decay_mom_rate));
    return max_mom[group] - (max_mom[group] - min_mom[group]) * cycle.height(iteration);
  }
};

}  // namespace

LrSchedule lr_schedule(const OneCycle& config, const std::vector<double>& initial) {
  std::size_t groups = initial.size();
  OneCycleRates of{config,
                   Cycle(config),
                   by_group(config.cycle_min_lr, groups, "cycle_min_lr"),
                   by_group(config.cycle_max_lr, groups, "cycle_max_lr"),
                   by_group(config.cycle_min_mom, groups, "cycle_min_mom"),
                   by_group(config.cycle_max_mom, groups, "cycle_max_mom")};
  return [of = std::move(of), groups](std::int64_t iteration) {
    GroupRates rates;
    for (std::size_t i = 0; i < groups; ++i) {
      rates.learning_rates.push_back(of.learning_rate(iteration, i));
      if (of.config.cycle_momentum) rates.betas.push_back({of.momentum(iteration, i), cycle_beta2});
    }
    return rates;
  };
}

LrSchedule lr_schedule(const LRRangeTest& config, const std::vector<double>& initial) {
  std::vector<double> min =
      by_group(config.lr_range_test_min_lr, initial.size(), "lr_range_test_min_lr");
  return [config, min = std::move(min)](std::int64_t iteration) {
    double interval = double(iteration + 1) / double(config.lr_range_test_step_size);
    if (config.lr_range_test_staircase) interval = std::floor(interval);
    GroupRates rates{.learning_rates = min};
    for (double& rate : rates.learning_rates) rate *= 1 + config.lr_range_test_step_rate * interval;
    return rates;
  };
}

}  // namespace simmesh::zero
