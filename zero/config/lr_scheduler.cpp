#include "zero/config/lr_scheduler.h"

#include "core/optim/adam.h"

namespace simmesh::zero {

LrScheduler::LrScheduler(const SchedulerConfig& config, optim::Optimizer& optimizer)
    : optimizer_(optimizer) {
  std::visit(
      [&](const auto& of_type) {
        schedule_ = lr_schedule(of_type, optimizer.learning_rates());
        last_batch_iteration_ = of_type.last_batch_iteration;
      },
      config);
  if (last_batch_iteration_ == -1) apply();
}

void LrScheduler::step() {
  ++last_batch_iteration_;
  apply();
}

void LrScheduler::apply() {
  GroupRates rates = schedule_(last_batch_iteration_);
  optimizer_.set_learning_rates(rates.learning_rates);
  if (rates.betas.empty()) return;
  if (auto* adam = dynamic_cast<optim::Adam*>(&optimizer_)) adam->set_betas(rates.betas);
}

}  // namespace simmesh::zero
