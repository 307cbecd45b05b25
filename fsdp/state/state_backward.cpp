#include <algorithm>

#include "core/autograd/backward.h"
#include "core/autograd/function.h"
#include "core/check/error.h"
#include "core/engine/run/followed_release.h"
#include "core/ops/compute_mode.h"
#include "fsdp/state/state.h"

namespace simmesh::fsdp {

nn::Tensors FSDPState::reduces_after(FSDPParamGroup& group, nn::Tensors inputs) {
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
                  [this, &group, owner = shared_from_this()](const std::vector<Tensor>& gradients) {
                    end_backward(group);
                    return gradients;
                  });
  return inputs;
}

// The largest number of inputs that is set below the root counts for the whole tree.
void FSDPState::end_backward(FSDPParamGroup& group) const {
  std::int64_t most = group.settings().reduce_scatter_max_input_buffers;
  for (const FSDPState* state : context_->all_states)
    for (auto& other : state->groups_)
      most = std::max(most, other->settings().reduce_scatter_max_input_buffers);
  group.end_backward(std::size_t(most));
}

void FSDPState::pre_backward() {
  training_state_ = TrainingState::pre_backward;
  queue_root_callback();
  for (auto& group : groups_)
    if (group->begin_backward() && backward_prefetch_.empty()) prefetch_before(*group);
  for (FSDPState* target : backward_prefetch_)
    for (auto it = target->groups_.rbegin(); it != target->groups_.rend(); ++it)
      (*it)->prefetch(Pass::backward, *this);
}

// In a module with several groups the second one prefetches for all: early enough, and after the
// first group's parameters are gathered.
void FSDPState::prefetch_before(FSDPParamGroup& group) {
  std::optional<std::int64_t> index = group.take_forward_index();
  if (!index) return;
  if (groups_.size() > 1) {
    if (groups_[1].get() == &group) prefetch_state_before(*index);
  } else if (FSDPParamGroup* target = comm_->group_at(*index - 1)) {
    target->prefetch(Pass::backward, *this);
  }
}

// Walks back over the groups of the module before; where forwards repeat, its own groups are in
// between.
void FSDPState::prefetch_state_before(std::int64_t index) {
  const FSDPState* module = nullptr;
  while (FSDPParamGroup* target = comm_->group_at(--index)) {
    if (&target->state() == this) continue;
    if (module && &target->state() != module) return;
    module = &target->state();
    target->prefetch(Pass::backward, *this);
  }
}

void FSDPState::queue_root_callback() {
  if (context_->callback_queued) return;
  context_->callback_queued = true;
  if (!context_->runs_manually) context_->runs_manually = context_->finalizes_manually;
  queue_callback([this, owner = shared_from_this()] { root_callback(); });
}

// Groups whose inputs require no gradient end here, unless the user ends them later.
void FSDPState::complete_backward(bool defers) {
  for (auto it = groups_.rbegin(); it != groups_.rend(); ++it) {
    FSDPParamGroup& group = **it;
    if (group.training_state() == TrainingState::post_backward) continue;
    if (defers && group.settings().reduce_grads)
      group.defer_backward();
    else
      end_backward(group);
  }
  training_state_ = TrainingState::idle;
  to_run_.clear();
  for (auto& group : groups_) group->set_training_state(TrainingState::idle);
}

void FSDPState::root_callback() {
  emit({.kind = EventKind::root_callback, .state = this});
  bool is_manual = context_->runs_manually.value_or(false);
  bool is_last = context_->is_last_backward && !is_manual;
  bool one_by_one = is_last && !follows(ReleaseChange::finalize_after_post_backward);
  for (FSDPState* state : context_->all_states) {
    state->complete_backward(is_manual);
    if (one_by_one) state->finish_groups();
  }
  if (is_last && !one_by_one) finish_all_groups();
  if (follows(ReleaseChange::release_gather_after_backward))
    comm_->streams().release_gather_at_end();
  if (is_last) end_iteration();
  context_->iter_forward_root = nullptr;
  context_->callback_queued = false;
}

void FSDPState::reset_iter_state() {
  if (!is_root_)
    raise(ErrorKind::attribute_error, "fsdp/reset_iter_state",
          "a root has no attribute of an iteration before its first forward");
  if (!*is_root_)
    raise(ErrorKind::runtime_error, "fsdp/reset_iter_state",
          "reset_iter_state must be called on the root FSDP module");
  auto reduction = comm_->active_reduction();
  if (reduction && reduction->owner != context_.get())
    raise(ErrorKind::runtime_error, "fsdp/reset_iter_state",
          "reset_iter_state cannot reset a gradient reduction owned by another FSDP root sharing "
          "the communication context");
  for (FSDPState* state : context_->all_states) {
    state->training_state_ = TrainingState::idle;
    state->to_run_.clear();
    for (auto& group : state->groups_) group->abandon_iteration();
  }
  comm_->forget_forwards(context_->all_states);
  comm_->streams().release_gather();
  comm_->streams().release_all();
  context_->iter_forward_root = nullptr;
  context_->callback_queued = false;
  context_->runs_manually.reset();
  context_->reduction_pending = false;
  comm_->set_active_reduction(nullptr);
}

}  // namespace simmesh::fsdp
