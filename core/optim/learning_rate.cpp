#include "core/optim/learning_rate.h"

#include <algorithm>

#include "core/arithmetic/functions.h"
#include "core/check/error.h"

namespace simmesh::optim {

namespace {

double power_by_steps(double base, std::int64_t exponent) {
  double result = 1.0;
  for (std::int64_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

std::int64_t positive(std::int64_t steps, const char* where) {
  if (steps < 1) raise(ErrorKind::value_error, where, "expected at least 1 step, got {}", steps);
  return steps;
}

}  // namespace

LearningRate LearningRate::constant() {
  return LearningRate([](std::int64_t) { return 1.0; });
}

LearningRate LearningRate::step(const Steps& options) {
  positive(options.every, "optim/learning_rate");
  return LearningRate(
      [options](std::int64_t step) { return power_by_steps(options.gamma, step / options.every); });
}

LearningRate LearningRate::multi_step(std::vector<std::int64_t> milestones, double gamma) {
  return LearningRate([milestones = std::move(milestones), gamma](std::int64_t step) {
    auto passed = std::count_if(milestones.begin(), milestones.end(),
                                [step](std::int64_t milestone) { return milestone <= step; });
    return power_by_steps(gamma, passed);
  });
}

LearningRate LearningRate::exponential(double gamma) {
  return LearningRate([gamma](std::int64_t step) { return power_by_steps(gamma, step); });
}

LearningRate LearningRate::linear(const Linear& options) {
  positive(options.steps, "optim/learning_rate");
  return LearningRate([options](std::int64_t step) {
    double part = double(std::min(step, options.steps)) / double(options.steps);
    return options.start + (options.end - options.start) * part;
  });
}

LearningRate LearningRate::cosine(const Cosine& options) {
  positive(options.steps, "optim/learning_rate");
  return LearningRate([options](std::int64_t step) {
    constexpr double pi = 3.14159265358979323846;
    double part = double(std::min(step, options.steps)) / double(options.steps);
    return options.end +
           (1.0 - options.end) * 0.5 * (1.0 + apply_function(Function::cos, pi * part));
  });
}

LearningRate LearningRate::by(Factor factor) { return LearningRate(std::move(factor)); }

LearningRate LearningRate::then(std::int64_t steps, LearningRate other) const {
  return LearningRate([first = factor_, steps, second = std::move(other.factor_)](std::int64_t s) {
    return s < steps ? first(s) : second(s - steps);
  });
}

Scheduler::Scheduler(Optimizer& optimizer, LearningRate rate)
    : optimizer_(optimizer), rate_(std::move(rate)), initial_(optimizer.learning_rates()) {
  apply();
}

void Scheduler::step() {
  ++steps_;
  apply();
}

void Scheduler::load_state(const State& state) {
  if (state.initial.size() != initial_.size())
    raise(ErrorKind::value_error, "optim/scheduler", "expected {} learning rates, got {}",
          initial_.size(), state.initial.size());
  steps_ = state.steps;
  initial_ = state.initial;
  apply();
}

void Scheduler::apply() {
  std::vector<double> rates = initial_;
  for (double& value : rates) value *= rate_.factor(steps_);
  optimizer_.set_learning_rates(rates);
}

}  // namespace simmesh::optim
