#include <algorithm>

#include "core/autograd/backward.h"
#include "core/check/error.h"
#include "fsdp/state/state.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view finalize_source = "fsdp/finalize_backward";
constexpr std::string_view manual_source = "fsdp/set_manual_backward_finalization";

}  // namespace

void FSDPState::set_manual_backward_finalization(bool enabled) {
  if (is_root_ && !*is_root_)
    raise(ErrorKind::runtime_error, manual_source,
          "set_manual_backward_finalization must be called on the root FSDP module");
  if (enabled != context_->finalizes_manually && current_backward())
    raise(ErrorKind::runtime_error, manual_source,
          "set_manual_backward_finalization cannot change mode during backward");
  if (context_->runs_manually && *context_->runs_manually != enabled)
    raise(ErrorKind::runtime_error, manual_source,
          "set_manual_backward_finalization cannot change mode after backward starts");
  context_->finalizes_manually = enabled;
}

// Checks modules below a root that isn't known before the first forward.
void FSDPState::check_manual_root() const {
  for (auto& [name, module] : modules_.front()->named_modules()) {
    std::shared_ptr<FSDPState> state = of(*module);
    if (state && state.get() != this && state->context_->finalizes_manually)
      raise(ErrorKind::runtime_error, manual_source,
            "set_manual_backward_finalization must be called on the root FSDP module, got {}",
            name);
  }
}

void FSDPState::check_no_pending_reduction(std::string_view before) const {
  if (context_->reduction_pending || comm_->active_reduction())
    raise(ErrorKind::runtime_error, finalize_source,
          "The previous gradient reduction must be waited on before {}", before);
}

void FSDPState::check_finalization() const {
  if (!*is_root_)
    raise(ErrorKind::runtime_error, finalize_source,
          "finalize_backward must be called on the root FSDP module");
  if (!context_->runs_manually.value_or(context_->finalizes_manually))
    raise(ErrorKind::runtime_error, finalize_source,
          "finalize_backward requires manual backward finalization: call "
          "set_manual_backward_finalization(True) before forward");
  if (context_->callback_queued)
    raise(ErrorKind::runtime_error, finalize_source,
          "finalize_backward must be called after backward completes");
  for (const FSDPState* state : context_->all_states)
    for (auto& group : state->groups())
      if (group->has_partial_sums())
        raise(ErrorKind::runtime_error, finalize_source,
              "manual backward finalization does not support partial gradient reductions, got one "
              "of {}",
              to_string(state->site()));
  for (const FSDPState* state : context_->all_states)
    for (auto& group : state->groups()) {
      const GroupSettings& settings = group->settings();
      if (group->has_pending_backward() && settings.reduce_grads && group->mesh().replicate_group &&
          !settings.all_reduce_grads)
        raise(ErrorKind::runtime_error, finalize_source,
              "manual backward finalization requires all-reduce, expected "
              "set_requires_all_reduce(True) for {}",
              to_string(state->site()));
    }
}

void FSDPState::check_no_work_of_others() const {
  const std::vector<FSDPState*>& own = context_->all_states;
  auto is_other = [&own](const FSDPState* state) {
    return std::find(own.begin(), own.end(), state) == own.end();
  };
  const auto& inputs = comm_->streams().reduce_inputs();
  if (comm_->has_forwards_besides(own) ||
      std::any_of(inputs.begin(), inputs.end(),
                  [&](const CommStreams::ReduceInput& input) { return is_other(input.state); }))
    raise(ErrorKind::runtime_error, finalize_source,
          "Asynchronous gradient finalization cannot overlap work from another FSDP root sharing "
          "the communication context");
}

// Each earlier pass left groups to the caller, or kept their gradients; a group that it reduced
// itself is only resharded.
void FSDPState::finalize_backward(bool waits) {
  check_no_pending_reduction("finalizing backward again");
  check_finalization();
  auto& states = context_->all_states;
  for (auto state = states.rbegin(); state != states.rend(); ++state) {
    auto& groups = (*state)->groups_;
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      if ((*group)->has_pending_backward())
        (*state)->end_backward(**group);
      else if ((*group)->settings().reshard_after_backward)
        (*group)->reshard();
      (*group)->set_training_state(TrainingState::idle);
    }
  }
  if (!waits) return;
  finish_all_groups();
  end_iteration();
}

std::shared_ptr<GradientReduction> FSDPState::start_reduction() {
  check_no_pending_reduction("finalizing backward again");
  check_finalization();
  check_no_work_of_others();
  finalize_backward(false);
  auto reduction = std::make_shared<GradientReduction>(GradientReduction{context_.get()});
  comm_->set_active_reduction(reduction);
  context_->reduction_pending = true;
  return reduction;
}

void FSDPState::wait_for_reduction(const std::shared_ptr<GradientReduction>& reduction) {
  if (comm_->active_reduction() != reduction)
    raise(ErrorKind::runtime_error, "fsdp/gradient_reduction",
          "This gradient reduction handle was invalidated");
  finish_all_groups();
  end_iteration();
  context_->reduction_pending = false;
  comm_->set_active_reduction(nullptr);
}

void FSDPState::finish_groups() {
  for (auto& group : groups_) group->finish_iteration();
}

void FSDPState::finish_all_groups() {
  for (FSDPState* state : context_->all_states) state->finish_groups();
}

void FSDPState::end_iteration() {
  comm_->forget_forwards(context_->all_states);
  comm_->streams().release_all();
  context_->runs_manually.reset();
}

}  // namespace simmesh::fsdp
