#include <algorithm>

#include "core/autograd/backward.h"
#include "core/autograd/function.h"
#include "core/ops/compute_mode.h"
#include "fsdp/param_group.h"
#include "fsdp/state.h"

namespace simmesh::fsdp {

void FSDPParamGroup::pre_forward() {
  training_state_ = TrainingState::forward;
  unshard(settings_.unshard_async_op);
  wait_for_unshard();
}

nn::Tensors FSDPParamGroup::register_post_backward(nn::Tensors inputs) {
  if (!grad_enabled()) return inputs;
  std::vector<Tensor> wanting;
  std::vector<Tensor*> outputs;
  for (Tensor& input : inputs) {
    if (!input.is_defined() || !input.requires_grad()) continue;
    wanting.push_back(input);
    outputs.push_back(&input);
  }
  if (wanting.empty()) return inputs;
  record_function("RegisterPostBackward", wanting, outputs,
                  [this, owner = state_->shared_from_this()](const std::vector<Tensor>& gradients) {
                    post_backward();
                    return gradients;
                  });
  return inputs;
}

// Within a backward pass this is a recomputation, which the order of forwards is no part of, and
// whose parameters backward needs at once.
void FSDPParamGroup::post_forward() {
  if (!current_backward()) {
    reshard();
    record_post_forward();
  }
  training_state_ = TrainingState::idle;
}

void FSDPParamGroup::record_post_forward() {
  std::int64_t index = comm_->record(*this);
  post_forward_indices_.push_back(index);
  emit({.kind = EventKind::record_post_forward, .group = this, .index = index});
}

void FSDPParamGroup::pre_backward(bool default_prefetch) {
  if (training_state_ == TrainingState::pre_backward) return;
  training_state_ = TrainingState::pre_backward;
  emit({.kind = EventKind::pre_backward, .group = this});
  unshard(settings_.unshard_async_op);
  wait_for_unshard();
  if (default_prefetch) backward_prefetch();
}

// Of a module with several groups the second one prefetches for all: early enough, and after the
// first group's parameters are there.
void FSDPParamGroup::backward_prefetch() {
  if (post_forward_indices_.empty()) return;
  std::int64_t index = post_forward_indices_.back();
  post_forward_indices_.pop_back();
  const auto& groups = state_->groups();
  if (groups.size() > 1) {
    if (groups[1].get() == this) prefetch_state_before(index);
    return;
  }
  if (FSDPParamGroup* target = comm_->at(index - 1)) target->prefetch("backward", *state_);
}

// Walks back over the groups of the module before; where forwards repeat, its own are in between.
void FSDPParamGroup::prefetch_state_before(std::int64_t index) {
  const FSDPState* module = nullptr;
  while (FSDPParamGroup* target = comm_->at(--index)) {
    if (&target->state() == state_) continue;
    if (module && &target->state() != module) return;
    module = &target->state();
    target->prefetch("backward", *state_);
  }
}

std::vector<ParamGrad> FSDPParamGroup::take_gradients() {
  std::vector<ParamGrad> gradients;
  for (auto& param : params_) {
    Tensor grad = param->take_unsharded_grad();
    bool as_zero = !grad.is_defined() && settings_.reduce_scatter_unused_params &&
                   param->unsharded_param().is_defined() && param->sharded_param().requires_grad();
    if (as_zero) grad = zeros(param->unsharded_shape(), param->unsharded_param().dtype());
    if (grad.is_defined()) gradients.push_back({param.get(), std::move(grad)});
  }
  return gradients;
}

// The highest number that is set below the root counts for all of it.
std::size_t FSDPParamGroup::reduce_inputs_max() const {
  std::int64_t most = settings_.reduce_scatter_max_input_buffers;
  for (FSDPState* state : state_->context().all_states)
    for (auto& group : state->groups())
      most = std::max(most, group->settings().reduce_scatter_max_input_buffers);
  return std::size_t(most);
}

void FSDPParamGroup::post_backward() {
  training_state_ = TrainingState::post_backward;
  emit({.kind = EventKind::post_backward, .group = this});
  for (auto& param : params_) param->accumulate_unsharded_grad();
  if (!settings_.reduce_grads) {
    if (settings_.reshard_after_backward) reshard();
    for (auto& param : params_) param->to_accumulated_grad();
    return;
  }
  std::vector<ParamGrad> gradients = take_gradients();
  if (settings_.reshard_after_backward) reshard();
  if (gradients.empty()) return;
  CommStreams& streams = comm_->streams();
  bool is_last_group = state_->groups().back().get() == this;
  if (is_last_group || !streams.faults().only_last_group_recycles)
    streams.recycle_reduce_inputs(reduce_inputs_max());
  if (!streams.faults().skips_own_reduction_wait) wait_for_reduction();
  DType orig_dtype = gradients.front().param->orig_dtype();
  std::optional<DType> reduce_dtype = gradients.front().param->reduce_dtype();
  ReduceSetting setting{.group = this,
                        .mesh = &mesh_,
                        .orig_dtype = orig_dtype,
                        .reduce_dtype = reduce_dtype,
                        .divide_factor = settings_.divide_factor,
                        .sums_gradients = settings_.sums_gradients,
                        .force_sum = settings_.force_sum,
                        .all_reduces = settings_.all_reduce_grads,
                        .has_own_group = settings_.separate_reduce_scatter_group,
                        .reduce_scatter = &settings_.reduce_scatter,
                        .hook = &settings_.all_reduce_hook,
                        .streams = &streams};
  if (streams.faults().skips_offload_wait)
    for (auto& param : params_) param->skip_offload_wait();
  reduced_ = reduce_gradients(std::move(gradients), setting, partial_);
}

}  // namespace simmesh::fsdp
