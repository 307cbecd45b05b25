#pragma once

#include <cstdint>
#include <vector>

#include "core/optim/optimizer.h"
#include "zero/config/lr_schedule.h"
#include "zero/config/scheduler_config.h"

namespace simmesh::zero {

// LrScheduler sets the learning rates of an optimiser as the section scheduler says, with OneCycle
// the betas of an optimiser that has two, and with CyclicLR and OneCycleLR the momentum of any
// optimiser that has one. An engine steps it after each step that changed the parameters, so a step
// that was skipped doesn't count.
//
//   optim::AdamW optimizer(model.parameters());
//   zero::LrScheduler scheduler(zero::WarmupLR{.warmup_num_steps = 100}, optimizer);
//   optimizer.step();
//   scheduler.step();
class LrScheduler {
 public:
  // Sets the rates of the first step, unless the configuration has the iteration to continue from.
  // The optimiser must outlive the scheduler. Raises a ValueError for a list that has another
  // number of groups than the optimiser, and where a momentum is cycled that the optimiser lacks.
  LrScheduler(const SchedulerConfig& config, optim::Optimizer& optimizer);

  // step moves to the next iteration.
  void step();

  // last_batch_iteration is the whole state: the number of steps made, less one.
  std::int64_t last_batch_iteration() const { return last_batch_iteration_; }
  // load_state continues after another iteration. As in DeepSpeed the rates stay until the next
  // step.
  void load_state(std::int64_t last_batch_iteration) {
    last_batch_iteration_ = last_batch_iteration;
  }

  std::vector<double> get_last_lr() const { return optimizer_.learning_rates(); }

 private:
  void apply();

  optim::Optimizer& optimizer_;
  LrSchedule schedule_;
  std::int64_t last_batch_iteration_ = -1;
};

}  // namespace simmesh::zero
