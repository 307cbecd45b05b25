#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/optim/optimizer.h"

namespace simmesh::optim {

// LearningRate is a schedule: the factor of the initial learning rate at a step, from 0. Factors
// are computed in double with fixed bits. A number of steps below 1 is a ValueError.
class LearningRate {
 public:
  using Factor = std::function<double(std::int64_t step)>;

  // constant is the factor 1 at all steps.
  static LearningRate constant();
  // Multiplied by gamma every so many steps.
  struct Steps {
    std::int64_t every;
    double gamma = 0.1;
  };
  static LearningRate step(const Steps& options);
  // Multiplied by gamma at each milestone.
  static LearningRate multi_step(std::vector<std::int64_t> milestones, double gamma = 0.1);
  static LearningRate exponential(double gamma);
  // Rises or falls linearly from one factor to another.
  struct Linear {
    std::int64_t steps;
    double start = 1.0 / 3.0;
    double end = 1.0;
  };
  static LearningRate linear(const Linear& options);
  // Falls along half a cosine to the factor end.
  struct Cosine {
    std::int64_t steps;
    double end = 0.0;
  };
  static LearningRate cosine(const Cosine& options);
  static LearningRate by(Factor factor);
  // Runs this schedule for so many steps, then the other from its start.
  LearningRate then(std::int64_t steps, LearningRate other) const;

  double factor(std::int64_t step) const { return factor_(step); }

 private:
  explicit LearningRate(Factor factor) : factor_(std::move(factor)) {}

  Factor factor_;
};

// Scheduler sets an optimizer's learning rates: its initial rates times the factor of the step.
class Scheduler {
 public:
  // The optimizer must outlive the scheduler.
  Scheduler(Optimizer& optimizer, LearningRate rate);
  // step sets the rates of the next step.
  void step();
  std::int64_t steps() const { return steps_; }

  // State is the state to save: the steps made, and the rates that the factors multiply.
  struct State {
    std::int64_t steps = 0;
    std::vector<double> initial;
  };
  State state() const { return {steps_, initial_}; }
  // load_state continues from a state, and sets the rates of its step. Raises a ValueError for
  // another number of rates than the optimizer has groups.
  void load_state(const State& state);

 private:
  void apply();

  Optimizer& optimizer_;
  LearningRate rate_;
  std::vector<double> initial_;
  std::int64_t steps_ = 0;
};

}  // namespace simmesh::optim
