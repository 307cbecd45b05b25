#include "fsdp/fsdp_module.h"

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "fsdp/communication/process_group_memory.h"
#include "fsdp/param/release_needed.h"
#include "fsdp/state/state.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view fsdp_module_source = "fsdp/fsdp_module";

}  // namespace

void UnshardHandle::wait() {
  if (!state_) return;
  for (auto& group : state_->groups()) group->wait_for_unshard();
  state_.reset();
}

void GradientReductionHandle::wait() {
  if (!state_) return;
  state_->wait_for_reduction(reduction_);
  state_.reset();
}

std::shared_ptr<FSDPState> FSDPModule::state_for(std::string_view method) const {
  std::shared_ptr<FSDPState> state = FSDPState::of(*module_);
  if (!state)
    raise(ErrorKind::attribute_error, fsdp_module_source,
          "a module that fully_shard wasn't applied to has no attribute '{}'", method);
  return state;
}

void FSDPModule::for_groups(std::string_view method, bool recurse,
                            const std::function<void(FSDPParamGroup&)>& change) const {
  auto own = state_for(method);
  if (!recurse) {
    for (auto& group : own->groups()) change(*group);
    return;
  }
  for (auto& [name, module] : module_->named_modules())
    if (auto state = FSDPState::of(*module))
      for (auto& group : state->groups()) change(*group);
}

FSDPParamGroup* FSDPModule::only_group(std::string_view method) const {
  auto state = state_for(method);
  if (state->groups().size() > 1)
    raise(ErrorKind::value_error, fsdp_module_source,
          "{} expects a module with one parameter group, got {}", method, state->groups().size());
  return state->groups().empty() ? nullptr : state->groups().front().get();
}

std::optional<UnshardHandle> FSDPModule::unshard(bool async_op) const {
  auto state = state_for("unshard");
  for (auto& group : state->groups()) {
    state->init_group(*group);
    group->unshard(async_op);
  }
  UnshardHandle handle(state);
  if (async_op) return handle;
  handle.wait();
  return std::nullopt;
}

void FSDPModule::reshard() const {
  for (auto& group : state_for("reshard")->groups()) group->reshard();
}

void FSDPModule::set_is_last_backward(bool value) const {
  state_for("set_is_last_backward")->context().is_last_backward = value;
}

void FSDPModule::set_requires_gradient_sync(bool value, bool recurse) const {
  for_groups("set_requires_gradient_sync", recurse, [&](FSDPParamGroup& group) {
    group.settings().reduce_grads = value;
    group.settings().all_reduce_grads = value;
  });
}

void FSDPModule::set_requires_all_reduce(bool value, bool recurse) const {
  for_groups("set_requires_all_reduce", recurse,
             [&](FSDPParamGroup& group) { group.settings().all_reduce_grads = value; });
}

void FSDPModule::set_reshard_after_forward(bool value, bool recurse) const {
  for_groups("set_reshard_after_forward", recurse, [&](FSDPParamGroup& group) {
    group.state().clear_auto_reshard();
    group.set_reshard_after_forward(value);
  });
}

void FSDPModule::set_reshard_after_backward(bool value, bool recurse) const {
  for_groups("set_reshard_after_backward", recurse,
             [&](FSDPParamGroup& group) { group.settings().reshard_after_backward = value; });
}

void FSDPModule::set_reduce_scatter_unused_params(bool value, bool recurse) const {
  for_groups("set_reduce_scatter_unused_params", recurse,
             [&](FSDPParamGroup& group) { group.settings().reduce_scatter_unused_params = value; });
}

void FSDPModule::set_reduce_scatter_max_input_buffers(std::int64_t count, bool recurse) const {
  if (count < 1)
    raise(ErrorKind::value_error, fsdp_module_source,
          "set_reduce_scatter_max_input_buffers expects a positive int, got {}", count);
  for_groups("set_reduce_scatter_max_input_buffers", recurse, [&](FSDPParamGroup& group) {
    group.settings().reduce_scatter_max_input_buffers = count;
  });
}

void FSDPModule::set_separate_reduce_scatter_group(bool value, bool recurse) const {
  for_groups("set_separate_reduce_scatter_group", recurse, [&](FSDPParamGroup& group) {
    group.settings().separate_reduce_scatter_group = value;
  });
}

void FSDPModule::set_unshard_async_op(bool value) const {
  for_groups("set_unshard_async_op", true,
             [&](FSDPParamGroup& group) { group.settings().unshard_async_op = value; });
}

void FSDPModule::set_keep_unsharded_storage(bool keep, bool recurse) const {
  constexpr std::string_view method = "set_keep_unsharded_storage";
  require_release({ErrorKind::attribute_error, method}, ReleaseChange::keep_unsharded_storage);
  for_groups(method, recurse, [&](FSDPParamGroup& group) {
    for (auto& param : group.params()) param->set_keep_unsharded_storage(keep);
  });
}

void FSDPModule::set_manual_backward_finalization(bool enabled) const {
  constexpr std::string_view method = "set_manual_backward_finalization";
  require_release({ErrorKind::attribute_error, method},
                  ReleaseChange::manual_backward_finalization);
  state_for(method)->set_manual_backward_finalization(enabled);
}

std::optional<GradientReductionHandle> FSDPModule::finalize_backward(bool async_op) const {
  constexpr std::string_view method = "finalize_backward";
  require_release({ErrorKind::attribute_error, method},
                  ReleaseChange::manual_backward_finalization);
  auto state = state_for(method);
  if (async_op && !state->is_root()) return GradientReductionHandle();
  if (async_op) return GradientReductionHandle(state, state->start_reduction());
  if (state->is_root()) state->finalize_backward(true);
  return std::nullopt;
}

void FSDPModule::set_sums_gradients(bool value) const {
  if (value && !current_arithmetic().is_exact())
    raise(ErrorKind::runtime_error, "fsdp/set_sums_gradients",
          "expected exact arithmetic, in which sums of gradients aren't rounded, got {}",
          current_arithmetic().name());
  for_groups("set_sums_gradients", false,
             [&](FSDPParamGroup& group) { group.settings().sums_gradients = value; });
}

void FSDPModule::set_gradient_divide_factor(std::optional<double> factor) const {
  for_groups("set_gradient_divide_factor", false,
             [&](FSDPParamGroup& group) { group.settings().divide_factor = factor; });
}

void FSDPModule::set_force_sum_reduction_for_comms(bool value) const {
  for_groups("set_force_sum_reduction_for_comms", false,
             [&](FSDPParamGroup& group) { group.settings().force_sum = value; });
}

void FSDPModule::set_unshard_in_backward(bool value) const {
  for_groups("set_unshard_in_backward", false,
             [&](FSDPParamGroup& group) { group.settings().unshard_in_backward = value; });
}

void FSDPModule::set_allocate_memory_from_process_group_for_comm(bool value) const {
  for_groups("set_allocate_memory_from_process_group_for_comm", false, [&](FSDPParamGroup& group) {
    GroupSettings& settings = group.settings();
    if (settings.has_custom_communication)
      raise(ErrorKind::assertion_error, fsdp_module_source,
            "cannot call set_allocate_memory_from_process_group_for_comm when custom all-gather or "
            "reduce-scatter communication is set");
    CommAllocate allocate;
    if (value) allocate = process_group_memory(group.mesh().shard_group);
    settings.all_gather.allocate = settings.reduce_scatter.allocate = allocate;
  });
}

void FSDPModule::set_symm_mem_for_comm() const {
  state_for("set_symm_mem_for_comm");
  raise(ErrorKind::not_implemented_error, fsdp_module_source,
        "symmetric memory, which kernels of other devices write to directly, isn't simulated: "
        "expected set_allocate_memory_from_process_group_for_comm, or an allocate function of "
        "set_custom_all_gather and set_custom_reduce_scatter, got set_symm_mem_for_comm");
}

void FSDPModule::set_custom_all_gather(AllGather all_gather) const {
  if (FSDPParamGroup* group = only_group("set_custom_all_gather")) {
    group->settings().all_gather = std::move(all_gather);
    group->settings().has_custom_communication = true;
  }
}

void FSDPModule::set_custom_reduce_scatter(ReduceScatter reduce_scatter) const {
  if (FSDPParamGroup* group = only_group("set_custom_reduce_scatter")) {
    group->settings().reduce_scatter = std::move(reduce_scatter);
    group->settings().has_custom_communication = true;
  }
}

void FSDPModule::set_all_reduce_hook(std::function<void(Tensor& reduced)> hook,
                                     std::optional<Stream> stream) const {
  FSDPParamGroup* group = only_group("set_all_reduce_hook");
  if (!group) return;
  if (stream && !hook)
    raise(ErrorKind::assertion_error, fsdp_module_source, "a stream needs a hook, got none");
  if (stream && group->mesh().replicate_group)
    raise(ErrorKind::value_error, fsdp_module_source,
          "stream cannot be set when using native HSDP");
  group->settings().all_reduce_hook = {std::move(hook), stream};
}

std::vector<FSDPState*> FSDPModule::states_of(const std::vector<nn::Module*>& modules,
                                              std::string_view method) const {
  std::vector<FSDPState*> states;
  for (const nn::Module* module : modules) {
    auto state = FSDPState::of(*module);
    if (!state)
      raise(ErrorKind::value_error, fsdp_module_source,
            "{} expects modules that are FSDPModule, got one that fully_shard wasn't applied to",
            method);
    states.push_back(state.get());
  }
  return states;
}

void FSDPModule::set_modules_to_forward_prefetch(const std::vector<nn::Module*>& modules) const {
  constexpr std::string_view method = "set_modules_to_forward_prefetch";
  state_for(method)->set_prefetch_forward(states_of(modules, method));
}

void FSDPModule::set_modules_to_backward_prefetch(const std::vector<nn::Module*>& modules) const {
  constexpr std::string_view method = "set_modules_to_backward_prefetch";
  state_for(method)->set_prefetch_backward(states_of(modules, method));
}

void FSDPModule::set_post_optim_event(std::function<void()> event) const {
  state_for("set_post_optim_event")->context().post_optim_event = std::move(event);
}

void FSDPModule::set_post_optim_event(StreamEvent event) const {
  state_for("set_post_optim_event")->context().post_optim_stream_event = std::move(event);
}

void FSDPModule::reset_iter_state() const { state_for("reset_iter_state")->reset_iter_state(); }

void FSDPModule::deepcopy() const {
  state_for("deepcopy");
  raise(ErrorKind::assertion_error, fsdp_module_source,
        "FSDP does not support deepcopy. Please use state dict");
}

ForwardMethod register_fsdp_forward_method(nn::Module& module, std::string_view name,
                                           ForwardMethod method) {
  auto state = FSDPState::of(module);
  if (!state) return method;
  if (!method)
    raise(ErrorKind::value_error, fsdp_module_source, "the module does not have a method '{}'",
          name);
  return [state, target = &module, method = std::move(method)](const nn::Tensors& inputs) {
    return state->post_forward(*target, method(state->pre_forward(inputs)));
  };
}

void share_comm_ctx(const std::vector<nn::Module*>& modules) {
  std::shared_ptr<CommContext> shared;
  for (nn::Module* module : modules) {
    auto root = FSDPState::of(*module);
    if (!root)
      raise(ErrorKind::value_error, fsdp_module_source,
            "share_comm_ctx expects modules that are FSDPModule, got one that isn't");
    if (!shared) shared = root->comm_context();
    for (auto& [name, below] : module->named_modules())
      if (auto state = FSDPState::of(*below)) state->set_comm_context(shared);
  }
}

}  // namespace simmesh::fsdp
