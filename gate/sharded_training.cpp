#include <simmesh/collectives/collectives.h>
#include <simmesh/core/ops/compute_mode.h>
#include <simmesh/fsdp/fsdp_module.h>
#include <simmesh/fsdp/named_params.h>
#include <simmesh/gate/sharded_training.h>

namespace simmesh {

namespace {

// All modules of a model that fully_shard was applied to.
std::vector<fsdp::FSDPModule> sharded_modules(nn::Module& model) {
  std::vector<fsdp::FSDPModule> modules;
  for (auto& [name, module] : model.named_modules())
    if (fsdp::FSDPState::of(*module)) modules.emplace_back(*module);
  return modules;
}

}  // namespace

std::optional<SyncMode> sync_from_string(std::string_view name) {
  if (name == "every") return SyncMode::every;
  if (name == "last") return SyncMode::last;
  if (name == "all_reduce_last") return SyncMode::all_reduce_last;
  return std::nullopt;
}

ShardedTraining::ShardedTraining(const FsdpPlan& plan, SyncMode sync) : plan_(&plan), sync_(sync) {}

void ShardedTraining::before_micro_batch(nn::Module& model, bool is_last) const {
  if (sync_ == SyncMode::every) return;
  for (const fsdp::FSDPModule& module : sharded_modules(model)) {
    if (sync_ == SyncMode::last)
      module.set_requires_gradient_sync(is_last, false);
    else
      module.set_requires_all_reduce(is_last, false);
    module.set_is_last_backward(is_last);
  }
}

ParallelForm ShardedTraining::form() {
  if (!plan_->mesh) return {};
  ParallelForm form;
  ProcessGroup world = ProcessGroup::world();
  bool is_exact = current_arithmetic().is_exact();
  form.part = world.rank();
  form.parts = world.size();
  form.averages = !is_exact;
  form.prepare = [this, is_exact](nn::Module& model) {
    shard_model(*plan_, model);
    if (!is_exact) return;
    for (const fsdp::FSDPModule& module : sharded_modules(model))
      module.set_gradient_divide_factor(1.0);
  };
  form.before_micro_batch = [this](nn::Module& model, bool is_last) {
    before_micro_batch(model, is_last);
  };
  form.all_sum = [world](const Tensor& value) { return all_reduce(value, ReduceOp::sum, world); };
  return form;
}

}  // namespace simmesh
