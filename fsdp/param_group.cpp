#include "fsdp/param_group.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "fsdp/state.h"

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
  gather_now(async_op);
}

// Gathers of hooks have streams of their own, so that they overlap; those that users start, and
// asynchronous ones, are allocated where the parameters are used.
GatherStreams FSDPParamGroup::gather_streams(bool async_op) const {
  CommStreams& streams = comm_->streams();
  bool by_hook =
      training_state_ == TrainingState::forward || training_state_ == TrainingState::pre_backward;
  if (by_hook && !async_op) return {.copy_in = streams.copy_in(), .gather = streams.all_gather()};
  return {.copy_in = Stream::current(),
          .gather = Stream::current(),
          .is_async = async_op,
          .records_streams = streams.faults().records_streams};
}

void FSDPParamGroup::gather_now(bool async_op) {
  NoGrad mode;
  bool is_smaller = sharded_state_ == ShardedState::sharded_post_forward;
  const ProcessGroup& group = is_smaller ? post_forward_.mesh->shard_group : mesh_.shard_group;
  comm_->streams().wait_to_gather(std::exchange(resharded_, {}));
  pending_ = std::make_unique<PendingGather>(params_, group, settings_.all_gather,
                                             gather_streams(async_op));
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
  CommStreams& streams = comm_->streams();
  bool in_forward = training_state_ == TrainingState::forward;
  if (in_forward) streams.release_gather();
  Tensor gathered = pending_->finish(params_, !streams.faults().skips_gather_wait);
  bool is_held = in_forward && !pending_->is_async();
  pending_ = nullptr;
  for (auto& param : params_) {
    if (streams.faults().keeps_post_forward_shards)
      kept_shards_.push_back(param->post_forward_data());
    param->to_unsharded();
  }
  sharded_state_ = ShardedState::unsharded;
  StreamEvent copied_out = Stream::current().record();
  if (is_held)
    streams.hold_gather(gathered, copied_out);
  else if (!streams.faults().skips_copy_out_wait)
    streams.wait_to_gather(copied_out);
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
  resharded_ = Stream::current().record();
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

void FSDPParamGroup::wait_for_reduction() { Stream::current().wait(std::exchange(reduced_, {})); }

void FSDPParamGroup::finalize_backward() {
  if (!comm_->streams().faults().skips_final_wait) wait_for_reduction();
  if (!comm_->streams().faults().skips_offload_wait)
    for (auto& param : params_) param->wait_for_offload();
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
  wait_for_reduction();
  for (auto& param : params_) {
    param->wait_for_offload();
    param->drop_gradients();
  }
  to_sharded({});
}

}  // namespace simmesh::fsdp
