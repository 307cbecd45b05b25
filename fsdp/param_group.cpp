#include <algorithm>
#include <fmt/ranges.h>

#include <simmesh/core/check/error.h>
#include <simmesh/core/ops/compute_mode.h>
#include <simmesh/fsdp/param_group.h>
#include <simmesh/fsdp/state.h>

namespace simmesh::fsdp {

namespace {

constexpr std::string_view param_group_source = "fsdp/param_group";

}  // namespace

void FSDPParamGroup::lazy_init() {
  emit({.kind = EventKind::group_lazy_init, .group = this});
  if (sharded_state_ == ShardedState::sharded && !was_reset_) {
    for (auto& param : params_) param->reset_sharded_param();
    was_reset_ = true;
  }
  check_meta();
  for (auto& param : params_) param->init_dtypes(policy_);
  check_dtypes();
  has_hooks_ = true;
}

void FSDPParamGroup::check_meta() const {
  std::vector<std::string> names;
  for (const auto& param : params_)
    if (param->sharded_param().local_part().is_meta()) names.push_back(state_->fqn_of(*param));
  if (!names.empty())
    raise(ErrorKind::runtime_error, param_group_source,
          "FSDP parameters should be materialized from meta device before training, but the "
          "following were still on meta device: {}",
          fmt::join(names, ", "));
}

void FSDPParamGroup::check_dtypes() const {
  const FSDPParam* first = nullptr;
  for (const auto& param : params_) {
    if (!param->sharded_param().requires_grad()) continue;
    if (!first) first = param.get();
    if (param->orig_dtype() != first->orig_dtype())
      raise(ErrorKind::assertion_error, param_group_source,
            "FSDP expects uniform original parameter dtype but got {} and {}",
            to_string(first->orig_dtype()), to_string(param->orig_dtype()));
    if (param->reduce_dtype() != first->reduce_dtype())
      raise(ErrorKind::assertion_error, param_group_source, "FSDP expects uniform reduce dtype");
  }
}

void FSDPParamGroup::unshard(bool async_op) {
  if (pending_ || sharded_state_ == ShardedState::unsharded) return;
  if (!settings_.unshard_in_backward && training_state_ == TrainingState::pre_backward) return;
  emit({.kind = EventKind::unshard,
        .group = this,
        .training = to_string(training_state_),
        .detail = async_op ? "async" : "sync"});
  gather_now();
}

void FSDPParamGroup::gather_now() {
  NoGrad mode;
  bool is_smaller = sharded_state_ == ShardedState::sharded_post_forward;
  const ProcessGroup& group = is_smaller ? post_forward_.mesh->shard_group : mesh_.shard_group;
  pending_ = std::make_unique<PendingGather>(params_, group, settings_.all_gather);
  if (pending_->communicates())
    emit({.kind = EventKind::all_gather,
          .group = this,
          .group_size = group.size(),
          .input = pending_->input(),
          .output_numel = pending_->output_numel()});
}

void FSDPParamGroup::wait_for_unshard() {
  if (!pending_) return;
  NoGrad mode;
  Tensor gathered = pending_->finish(params_);
  pending_ = nullptr;
  for (auto& param : params_) param->to_unsharded();
  sharded_state_ = ShardedState::unsharded;
  emit({.kind = EventKind::wait,
        .group = this,
        .training = to_string(training_state_),
        .output = gathered});
}

void FSDPParamGroup::reshard() {
  if (training_state_ != TrainingState::forward) return to_sharded(to_string(training_state_));
  if (!post_forward_.reshards) return;
  if (!post_forward_.mesh) return to_sharded(to_string(training_state_));
  if (sharded_state_ != ShardedState::unsharded) return;
  NoGrad mode;
  for (auto& param : params_) param->to_sharded_post_forward();
  sharded_state_ = ShardedState::sharded_post_forward;
  emit({.kind = EventKind::reshard,
        .group = this,
        .training = to_string(training_state_),
        .detail = to_string(sharded_state_)});
}

void FSDPParamGroup::to_sharded(std::string_view training) {
  if (sharded_state_ == ShardedState::sharded) return;
  for (auto& param : params_) param->to_sharded();
  sharded_state_ = ShardedState::sharded;
  if (!training.empty())
    emit({.kind = EventKind::reshard,
          .group = this,
          .training = training,
          .detail = to_string(sharded_state_)});
}

void FSDPParamGroup::prefetch(std::string_view pass, const FSDPState& by) {
  emit({.kind = EventKind::prefetch, .state = &by, .group = this, .detail = pass});
  TrainingState before = std::exchange(
      training_state_, pass == "backward" ? TrainingState::pre_backward : TrainingState::forward);
  unshard(settings_.unshard_async_op);
  training_state_ = before;
}

void FSDPParamGroup::finalize_backward() {
  bool drops = pending_ != nullptr;
  if (drops) pending_->drop();
  pending_ = nullptr;
  post_forward_indices_.clear();
  emit({.kind = EventKind::finalize, .group = this, .detail = drops ? "drops_gather" : "clean"});
}

void FSDPParamGroup::reset_iter_state() {
  if (pending_) pending_->drop();
  pending_ = nullptr;
  post_forward_indices_.clear();
  training_state_ = TrainingState::idle;
  partial_.reset();
  for (auto& param : params_) param->drop_gradients();
  to_sharded({});
}

}  // namespace simmesh::fsdp
