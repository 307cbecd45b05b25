#include <algorithm>
#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"
#include "zero/config/lr_schedule.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view cycle_source = "zero/scheduler";

// Triangle is the height of CyclicLR: it rises from 0 to 1 and falls again.
struct Triangle {
  explicit Triangle(const CyclicLR& given)
      : config(given),
        size(given.step_size_up + given.step_size_down.value_or(given.step_size_up)),
        ratio(given.step_size_up / size) {}

  double height(std::int64_t epoch) const {
    double cycle = std::floor(1 + double(epoch) / size);
    double x = 1.0 + double(epoch) / size - cycle;
    return x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
  }
  double scale(std::int64_t epoch) const {
    double cycle = std::floor(1 + double(epoch) / size);
    double place = config.scale_mode == "cycle" ? cycle : double(epoch);
    if (config.mode == "triangular") return 1.0;
    return config.mode == "triangular2" ? 1.0 / power(2.0, place - 1) : power(config.gamma, place);
  }

  CyclicLR config;
  double size, ratio;
};

// CyclePhase is a part of OneCycleLR: from one value to another until a step.
struct CyclePhase {
  enum class Rate : std::uint8_t { first, largest, last };

  double end = 0;
  Rate from, to;
  bool rests = false;           // the momentum stays
  bool momentum_falls = false;  // else it rises
};

std::vector<CyclePhase> phases_of(const OneCycleLR& config, double total) {
  using Rate = CyclePhase::Rate;
  std::vector<CyclePhase> phases = {
      {config.pct_start * total - 1, Rate::first, Rate::largest, false, true}};
  if (config.three_phase) {
    phases.push_back({2 * config.pct_start * total - 2, Rate::largest, Rate::first, false, false});
    phases.push_back({total - 1, Rate::first, Rate::last, true, false});
  } else {
    phases.push_back({total - 1, Rate::largest, Rate::last, false, false});
  }
  return phases;
}

double annealed(const OneCycleLR& config, double start, double end, double part) {
  if (config.anneal_strategy == "linear") return (end - start) * part + start;
  constexpr double pi = 3.14159265358979323846;
  double cosine = apply_function(Function::cos, pi * part) + 1;
  return end + (start - end) / 2.0 * cosine;
}

std::int64_t total_of(const OneCycleLR& config) {
  if (config.total_steps) return *config.total_steps;
  if (config.epochs && config.steps_per_epoch) return *config.epochs * *config.steps_per_epoch;
  raise(ErrorKind::value_error, cycle_source,
        "scheduler.params: You must define either total_steps OR (epochs AND steps_per_epoch)");
}

// OneCycleRun is the schedule of OneCycleLR for an optimiser.
struct OneCycleRun {
  OneCycleLR config;
  std::int64_t total;
  std::vector<CyclePhase> phases;
  std::vector<double> max_lr, base_momenta, max_momenta;

  double rate(CyclePhase::Rate which, std::size_t group) const {
    double first = max_lr[group] / config.div_factor;
    return which == CyclePhase::Rate::first     ? first
           : which == CyclePhase::Rate::largest ? max_lr[group]
                                                : first / config.final_div_factor;
  }

  GroupRates rates(std::int64_t epoch) const {
    if (epoch > total)
      raise(ErrorKind::value_error, cycle_source,
            "Tried to step {} times. The specified number of total steps is {}", epoch, total);
    std::size_t index = 0;
    while (index + 1 < phases.size() && double(epoch) > phases[index].end) ++index;
    const CyclePhase& phase = phases[index];
    double start = index == 0 ? 0.0 : phases[index - 1].end;
    if (phase.end == start)
      raise(ErrorKind::value_error, cycle_source,
            "scheduler.params: expected phases of at least one step, got one that ends where it "
            "begins, at {}",
            start);
    double part = (double(epoch) - start) / (phase.end - start);
    GroupRates result;
    for (std::size_t i = 0; i < max_lr.size(); ++i) {
      result.learning_rates.push_back(
          annealed(config, rate(phase.from, i), rate(phase.to, i), part));
      if (!config.cycle_momentum) continue;
      double low = base_momenta[i], high = max_momenta[i];
      double from = phase.rests || phase.momentum_falls ? high : low;
      double to = phase.rests || !phase.momentum_falls ? high : low;
      result.momenta.push_back(annealed(config, from, to, part));
    }
    return result;
  }
};

}  // namespace

LrSchedule lr_schedule(const CyclicLR& config, const std::vector<double>& initial) {
  std::size_t groups = initial.size();
  std::vector<double> base = by_group(config.base_lr, groups, "base_lr"),
                      max = by_group(config.max_lr, groups, "max_lr"),
                      low = by_group(config.base_momentum, groups, "base_momentum"),
                      high = by_group(config.max_momentum, groups, "max_momentum");
  return [triangle = Triangle(config), base, max, low, high](std::int64_t iteration) {
    std::int64_t epoch = iteration + 1;
    double height = triangle.height(epoch), scale = triangle.scale(epoch);
    GroupRates rates;
    for (std::size_t i = 0; i < base.size(); ++i) {
      rates.learning_rates.push_back(base[i] + (max[i] - base[i]) * height * scale);
      if (triangle.config.cycle_momentum)
        rates.momenta.push_back(high[i] - (high[i] - low[i]) * height * scale);
    }
    return rates;
  };
}

LrSchedule lr_schedule(const OneCycleLR& config, const std::vector<double>& initial) {
  std::size_t groups = initial.size();
  std::int64_t total = total_of(config);
  OneCycleRun run{config,
                  total,
                  phases_of(config, double(total)),
                  by_group(config.max_lr, groups, "max_lr"),
                  by_group(config.base_momentum, groups, "base_momentum"),
                  by_group(config.max_momentum, groups, "max_momentum")};
  return [run](std::int64_t iteration) { return run.rates(iteration + 1); };
}

}  // namespace simmesh::zero
