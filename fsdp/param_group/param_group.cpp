#include "fsdp/param_group/param_group.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/compute_mode.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view param_group_source = "fsdp/param_group";

}  // namespace

void FSDPParamGroup::read_params() {
  if (sharded_state_ != ShardedState::sharded || was_read_) return;
  for (auto& param : params_) param->reset_sharded_param();
  was_read_ = true;
}

void FSDPParamGroup::settle_dtypes() {
  const FSDPParam* first = nullptr;
  for (auto& param : params_) {
    param->init_dtypes(options_.policy);
    if (!param->sharded_param().requires_grad()) continue;
    if (!first) first = param.get();
    if (param->orig_dtype() != first->orig_dtype())
      raise(ErrorKind::assertion_error, param_group_source,
            "FSDP expects uniform original parameter dtype but got {} and {} at {}",
            to_string(first->orig_dtype()), to_string(param->orig_dtype()), to_string(site_));
    if (param->reduce_dtype() != first->reduce_dtype())
      raise(ErrorKind::assertion_error, param_group_source,
            "FSDP expects uniform reduce dtype at {}", to_string(site_));
  }
  order_reduction();
  is_initialized_ = true;
}

// Parameters whose shards get gradients of one dtype are reduced next to each other, so that their
// results are converted together.
void FSDPParamGroup::order_reduction() {
  reduction_order_.clear();
  std::vector<std::optional<DType>> dtypes;
  for (auto& param : params_)
    if (std::find(dtypes.begin(), dtypes.end(), param->sharded_grad_dtype()) == dtypes.end())
      dtypes.push_back(param->sharded_grad_dtype());
  for (const std::optional<DType>& dtype : dtypes)
    for (auto& param : params_)
      if (param->sharded_grad_dtype() == dtype) reduction_order_.push_back(param.get());
}

void FSDPParamGroup::unshard(bool async_op) {
  if (pending_ || sharded_state_ == ShardedState::unsharded) return;
  if (!settings_.unshard_in_backward && training_state_ == TrainingState::pre_backward) return;
  emit({.kind = EventKind::unshard,
        .group = this,
        .training = training_state_,
        .is_async = async_op});
  gather_now(async_op);
}

// Gathers of hooks have streams of their own, so that they overlap; asynchronous ones, and those
// that users start, are allocated on the stream where the parameters are used.
GatherStreams FSDPParamGroup::gather_streams(bool async_op) const {
  CommStreams& streams = comm_->streams();
  bool by_hook =
      training_state_ == TrainingState::forward || training_state_ == TrainingState::pre_backward;
  if (by_hook && !async_op)
    return {.copy_in = streams.copy_in(), .gather = streams.all_gather(), .site = site_};
  return {.copy_in = Stream::current(),
          .gather = Stream::current(),
          .is_async = async_op,
          .site = site_};
}

void FSDPParamGroup::gather_now(bool async_op) {
  NoGrad mode;
  bool is_smaller = sharded_state_ == ShardedState::sharded_post_forward;
  const ProcessGroup& group =
      is_smaller ? post_forward_mesh()->shard_group : options_.mesh.shard_group;
  if (is_smaller) comm_->streams().wait_for_shards(resharded_);
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
  streams.wait_for_gather(pending_->gathered());
  Tensor gathered = pending_->finish(params_);
  bool is_held = in_forward && !pending_->is_async();
  pending_ = nullptr;
  for (auto& param : params_) param->to_unsharded();
  sharded_state_ = ShardedState::unsharded;
  StreamEvent copied_out = Stream::current().record();
  if (is_held)
    streams.hold_gather(gathered, copied_out);
  else
    streams.wait_for_copy_out(copied_out);
  emit({.kind = EventKind::wait, .group = this, .training = training_state_, .output = gathered});
}

void FSDPParamGroup::prefetch(Pass pass, const FSDPState& by) {
  emit({.kind = EventKind::prefetch, .state = &by, .group = this, .pass = pass});
  TrainingState before =
      std::exchange(training_state_,
                    pass == Pass::backward ? TrainingState::pre_backward : TrainingState::forward);
  unshard(settings_.unshard_async_op);
  training_state_ = before;
}

void FSDPParamGroup::reshard() {
  bool in_forward = training_state_ == TrainingState::forward;
  if (in_forward && !options_.post_forward.reshards) return;
  if (in_forward && post_forward_mesh()) {
    if (sharded_state_ != ShardedState::unsharded) return;
    NoGrad mode;
    for (auto& param : params_) param->to_sharded_post_forward();
    sharded_state_ = ShardedState::sharded_post_forward;
    resharded_ = Stream::current().record();
  } else if (!register_shards()) {
    return;
  }
  emit({.kind = EventKind::reshard,
        .group = this,
        .training = training_state_,
        .becomes = sharded_state_});
}

void FSDPParamGroup::reshard_for_state_dict() {
  if (register_shards())
    emit({.kind = EventKind::reshard,
          .group = this,
          .by_state_dict = true,
          .becomes = sharded_state_});
}

bool FSDPParamGroup::register_shards() {
  if (sharded_state_ == ShardedState::sharded) return false;
  for (auto& param : params_) param->to_sharded();
  sharded_state_ = ShardedState::sharded;
  return true;
}

}  // namespace simmesh::fsdp
