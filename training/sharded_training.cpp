#include "training/sharded_training.h"

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "fsdp/fsdp_module.h"
#include "fsdp/named_params.h"
#include "fsdp/state/state.h"

namespace simmesh {

namespace {

// Returns the modules that fully_shard was applied to; for each group only its first module.
std::vector<fsdp::FSDPModule> sharded_modules(nn::Module& model) {
  std::vector<fsdp::FSDPModule> modules;
  for (auto& [name, module] : model.named_modules())
    if (auto state = fsdp::FSDPState::of(*module); state && state->modules().front() == module)
      modules.emplace_back(*module);
  return modules;
}

// Returns the ranks that rows are cut over, in the order of their coordinates.
ProcessGroup row_group(const FsdpPlan& plan, const ShardedSettings& settings) {
  if (!settings.cuts_over_mesh) return ProcessGroup::world();
  return ProcessGroup::of(plan.mesh->used(plan.mesh->whole()).ranks(), "rows");
}

}  // namespace

std::optional<SyncMode> sync_from_string(std::string_view name) {
  for (SyncMode mode : {SyncMode::every, SyncMode::last, SyncMode::all_reduce_last})
    if (to_string(mode) == name) return mode;
  return std::nullopt;
}

std::string_view to_string(SyncMode mode) {
  return mode == SyncMode::every ? "every" : mode == SyncMode::last ? "last" : "all_reduce_last";
}

std::optional<BackwardEnd> backward_end_from_string(std::string_view name) {
  for (BackwardEnd end : {BackwardEnd::automatic, BackwardEnd::manual, BackwardEnd::async})
    if (to_string(end) == name) return end;
  return std::nullopt;
}

std::string_view to_string(BackwardEnd end) {
  return end == BackwardEnd::automatic ? "automatic"
         : end == BackwardEnd::manual  ? "manual"
                                       : "async";
}

ShardedTraining::ShardedTraining(const FsdpPlan& plan, const ShardedSettings& settings)
    : plan_(&plan), settings_(settings) {}

// With summed gradients the loss of a part isn't scaled, so its gradients have the same terms as on
// one device.
bool ShardedTraining::sums_gradients() const {
  return current_arithmetic().is_exact() && !settings_.gradient_divide_factor;
}

void ShardedTraining::set_prefetch(nn::Module& model) const {
  std::vector<nn::Module*> modules;
  for (const fsdp::FSDPModule& module : sharded_modules(model))
    if (&module.module() != &model) modules.push_back(&module.module());
  std::size_t forward = std::size_t(settings_.forward_prefetch);
  std::size_t backward = std::size_t(settings_.backward_prefetch);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    std::vector<nn::Module*> later, earlier;
    for (std::size_t j = i + 1; j < modules.size() && j <= i + forward; ++j)
      later.push_back(modules[j]);
    for (std::size_t back = 1; back <= i && back <= backward; ++back)
      earlier.push_back(modules[i - back]);
    fsdp::FSDPModule module(*modules[i]);
    if (!later.empty()) module.set_modules_to_forward_prefetch(later);
    if (!earlier.empty()) module.set_modules_to_backward_prefetch(earlier);
  }
}

void ShardedTraining::set_up(nn::Module& model) const {
  std::optional<double> factor = settings_.gradient_divide_factor;
  for (const fsdp::FSDPModule& module : sharded_modules(model)) {
    if (factor) module.set_gradient_divide_factor(*factor);
    if (sums_gradients()) module.set_sums_gradients(true);
    if (settings_.force_sum_reduction) module.set_force_sum_reduction_for_comms(true);
    if (settings_.reduces_unused_params) module.set_reduce_scatter_unused_params(true, false);
  }
  fsdp::FSDPModule root(model);
  if (settings_.keeps_unsharded_storage) root.set_keep_unsharded_storage(true);
  if (settings_.backward_end != BackwardEnd::automatic) root.set_manual_backward_finalization(true);
  if (settings_.grad_dtype.is_set())
    for (Tensor& parameter : model.parameters())
      if (parameter.distribution()) set_grad_dtype(parameter, settings_.grad_dtype);
  set_prefetch(model);
}

void ShardedTraining::end_backward(nn::Module& model) const {
  if (settings_.backward_end == BackwardEnd::automatic) return;
  auto handle =
      fsdp::FSDPModule(model).finalize_backward(settings_.backward_end == BackwardEnd::async);
  if (handle) handle->wait();
}

void ShardedTraining::before_micro_batch(nn::Module& model, bool is_last) const {
  for (const fsdp::FSDPModule& module : sharded_modules(model)) {
    if (!settings_.reshard_after_backward) module.set_reshard_after_backward(is_last, false);
    if (settings_.sync == SyncMode::every) continue;
    if (settings_.sync == SyncMode::last)
      module.set_requires_gradient_sync(is_last, false);
    else
      module.set_requires_all_reduce(is_last, false);
    module.set_is_last_backward(is_last);
  }
}

ParallelForm ShardedTraining::form(ParallelForm given) {
  if (!plan_->mesh) return given;
  ParallelForm form = std::move(given);
  ProcessGroup group = row_group(*plan_, settings_);
  form.part = group.rank();
  form.parts = group.size();
  form.gradient_divisor =
      sums_gradients() ? 1.0 : settings_.gradient_divide_factor.value_or(double(group.size()));
  form.prepare = [this, next = std::move(form.prepare)](nn::Module& model) {
    shard_model(*plan_, model);
    set_up(model);
    if (next) next(model);
  };
  form.before_micro_batch = [this](nn::Module& model, bool is_last) {
    before_micro_batch(model, is_last);
  };
  form.after_backward = [this, next = std::move(form.after_backward)](nn::Module& model) {
    end_backward(model);
    if (next) next(model);
  };
  form.all_sum = [group](const Tensor& value) { return all_reduce(value, ReduceOp::sum, group); };
  return form;
}

}  // namespace simmesh
