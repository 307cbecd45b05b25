#include "core/autograd/backward.h"
#include "core/check/error.h"
#include "core/engine/run/followed_release.h"
#include "core/ops/compute_mode.h"
#include "fsdp/param_group/param_group.h"

namespace simmesh::fsdp {

void FSDPParamGroup::begin_forward() {
  training_state_ = TrainingState::forward;
  unshard(settings_.unshard_async_op);
  wait_for_unshard();
}

// Within a backward pass this is a recomputation, which isn't part of the order of forwards, and
// whose parameters backward needs at once.
void FSDPParamGroup::end_forward() {
  if (!current_backward()) {
    reshard();
    record_forward();
  }
  training_state_ = TrainingState::idle;
}

void FSDPParamGroup::record_forward() {
  std::int64_t index = comm_->record_forward(*this, *state_);
  forward_indices_.push_back(index);
  emit({.kind = EventKind::record_post_forward, .group = this, .index = index});
}

std::optional<std::int64_t> FSDPParamGroup::take_forward_index() {
  if (forward_indices_.empty()) return std::nullopt;
  std::int64_t index = forward_indices_.back();
  forward_indices_.pop_back();
  return index;
}

bool FSDPParamGroup::begin_backward() {
  if (training_state_ == TrainingState::pre_backward) return false;
  training_state_ = TrainingState::pre_backward;
  emit({.kind = EventKind::pre_backward, .group = this});
  unshard(settings_.unshard_async_op);
  wait_for_unshard();
  for (auto& param : params_) param->begin_unsharded_grad(settings_.reduce_grads);
  return true;
}

// A parameter without a gradient is reduced as zeros where that is asked for, or where an earlier
// micro-batch left a sum that waits for the replicas. Before 2.15 such a sum alone is no reason to
// reduce before the replicas do.
std::vector<ParamGrad> FSDPParamGroup::take_gradients() {
  std::vector<ParamGrad> gradients;
  bool reduces =
      settings_.all_reduce_grads || follows(ReleaseChange::reduce_for_partial_sums_alone);
  for (FSDPParam* param : reduction_order_) {
    Tensor grad = param->take_unsharded_grad();
    bool is_wanted = grad.is_defined() || is_reduced_unused(*param);
    reduces |= is_wanted;
    if (!grad.is_defined() && (is_wanted || partial_.has(*param)))
      grad = zeros(param->unsharded_shape(), param->unsharded_param().dtype());
    if (grad.is_defined()) gradients.push_back({param, std::move(grad)});
  }
  return reduces ? gradients : std::vector<ParamGrad>();
}

bool FSDPParamGroup::is_reduced_unused(const FSDPParam& param) const {
  return settings_.reduce_scatter_unused_params && param.unsharded_param().is_defined() &&
         param.sharded_param().requires_grad();
}

// All ranks see the same settings, so all of them raise.
void FSDPParamGroup::check_unused_dtypes() const {
  if (!settings_.reduce_scatter_unused_params) return;
  for (const auto& param : params_)
    if (param->sharded_param().requires_grad() && param->grad_dtype().is_any() &&
        !param->reduce_dtype())
      raise(ErrorKind::value_error, "fsdp/param_group",
            "Reducing unused parameters with grad_dtype=None requires an explicit reduce_dtype, in "
            "which every rank makes zeros: expected one for {}",
            param->slots().owner.name);
}

void FSDPParamGroup::end_backward(std::size_t reduce_inputs_max) {
  training_state_ = TrainingState::post_backward;
  emit({.kind = EventKind::post_backward, .group = this});
  for (auto& param : params_) param->accumulate_unsharded_grad();
  has_pending_backward_ = !settings_.reduce_grads;
  std::vector<ParamGrad> gradients;
  if (settings_.reduce_grads) {
    check_unused_dtypes();
    gradients = take_gradients();
  }
  if (settings_.reshard_after_backward) reshard();
  for (auto& param : params_) param->end_unsharded_grad();
  if (gradients.empty()) return;
  comm_->streams().recycle_reduce_inputs(reduce_inputs_max);
  comm_->streams().wait_for_earlier_reduction(std::exchange(reduced_, {}));
  reduce(std::move(gradients));
}

void FSDPParamGroup::reduce(std::vector<ParamGrad> gradients) {
  reduced_ = reduce_gradients(std::move(gradients),
                              {.group = *this,
                               .state = *state_,
                               .site = site_,
                               .mesh = options_.mesh,
                               .streams = comm_->streams(),
                               .reduce_scatter = settings_.reduce_scatter,
                               .hook = settings_.all_reduce_hook,
                               .divide_factor = settings_.divide_factor,
                               .sums_gradients = settings_.sums_gradients,
                               .force_sum = settings_.force_sum,
                               .all_reduces = settings_.all_reduce_grads,
                               .has_own_group = settings_.separate_reduce_scatter_group},
                              partial_);
}

void FSDPParamGroup::finish_iteration() {
  comm_->streams().wait_for_last_reduction(std::exchange(reduced_, {}));
  for (auto& param : params_) param->wait_for_offload(comm_->streams());
  bool drops = pending_ != nullptr;
  if (drops) pending_->drop();
  pending_ = nullptr;
  forward_indices_.clear();
  emit({.kind = EventKind::finalize, .group = this, .drops_gather = drops});
}

void FSDPParamGroup::abandon_iteration() {
  if (pending_) pending_->drop();
  pending_ = nullptr;
  forward_indices_.clear();
  training_state_ = TrainingState::idle;
  has_pending_backward_ = false;
  partial_.clear();
  comm_->streams().wait_for_last_reduction(std::exchange(reduced_, {}));
  bool drops_reduced = follows(ReleaseChange::reset_clears_gradients);
  for (auto& param : params_) {
    param->wait_for_offload(comm_->streams());
    param->drop_gradients();
    param->end_unsharded_grad();
    if (drops_reduced) param->drop_sharded_grad();
  }
  register_shards();
}

}  // namespace simmesh::fsdp
