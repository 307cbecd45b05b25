#include "zero/config/lr_scheduler.h"

#include "core/check/error.h"
#include "core/optim/adam.h"
#include "core/optim/adamax.h"
#include "core/optim/lamb.h"
#include "core/optim/lion.h"
#include "core/optim/momenta.h"
#include "core/optim/nadam.h"
#include "core/optim/radam.h"

namespace simmesh::zero {

namespace {

// The schedulers of PyTorch that cycle a momentum refuse an optimiser without one.
template <class Type>
void check_momentum(const Type& config, const optim::Optimizer& optimizer) {
  if constexpr (std::is_same_v<Type, CyclicLR> || std::is_same_v<Type, OneCycleLR>)
    if (config.cycle_momentum && dynamic_cast<const optim::Momenta*>(&optimizer) == nullptr)
      raise(ErrorKind::value_error, "zero/scheduler",
            "scheduler.params.cycle_momentum: optimizer must support momentum or beta1 with "
            "`cycle_momentum` option enabled");
}

template <class Kind>
bool sets_betas_of(optim::Optimizer& optimizer, const std::vector<std::array<double, 2>>& betas) {
  auto* of_kind = dynamic_cast<Kind*>(&optimizer);
  if (of_kind != nullptr) of_kind->set_betas(betas);
  return of_kind != nullptr;
}

// Sets the betas of an optimiser that has two in each group.
template <class... Kinds>
void set_betas_of_any(optim::Optimizer& optimizer,
                      const std::vector<std::array<double, 2>>& betas) {
  if (!betas.empty()) (sets_betas_of<Kinds>(optimizer, betas) || ...);
}

}  // namespace

LrScheduler::LrScheduler(const SchedulerConfig& config, optim::Optimizer& optimizer)
    : optimizer_(optimizer) {
  std::visit(
      [&](const auto& of_type) {
        schedule_ = lr_schedule(of_type, optimizer.learning_rates());
        check_momentum(of_type, optimizer);
        if constexpr (requires { of_type.last_batch_iteration; })
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
  set_betas_of_any<optim::Adam, optim::Adamax, optim::Lamb, optim::Lion, optim::NAdam,
                   optim::RAdam>(optimizer_, rates.betas);
  if (!rates.momenta.empty()) dynamic_cast<optim::Momenta&>(optimizer_).set_momenta(rates.momenta);
}

}  // namespace simmesh::zero
