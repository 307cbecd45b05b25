#include "fsdp/state/state.h"

#include <algorithm>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"

namespace simmesh::fsdp {

namespace {

nn::Tensors cast(nn::Tensors tensors, std::optional<DType> dtype) {
  if (!dtype) return tensors;
  for (Tensor& tensor : tensors)
    if (tensor.is_defined() && is_floating_point(tensor.dtype())) tensor = to(tensor, *dtype);
  return tensors;
}

}  // namespace

FSDPState::FSDPState(std::vector<nn::Module*> modules, MixedPrecisionPolicy policy,
                     bool auto_reshard)
    : modules_(std::move(modules)), policy_(std::move(policy)), auto_reshard_(auto_reshard) {
  policy_.param_dtype_override_fn = {};
}

std::shared_ptr<FSDPState> FSDPState::of(const nn::Module& module) {
  return std::dynamic_pointer_cast<FSDPState>(module.extension());
}

void FSDPState::install() {
  for (nn::Module* module : modules_) {
    module->set_extension(shared_from_this());
    module->add_first_pre_hook(
        [this](nn::Module&, nn::Tensors inputs) { return pre_forward(std::move(inputs)); });
    module->add_hook([this](nn::Module& called, const nn::Tensors&, nn::Tensors outputs) {
      return post_forward(called, std::move(outputs));
    });
  }
  for (auto& group : groups_) group->communicate_over(comm_);
}

void FSDPState::set_site(const CallSite& site) {
  site_ = site;
  for (auto& group : groups_) group->set_site(site);
}

void FSDPState::set_comm_context(const std::shared_ptr<CommContext>& context) {
  comm_ = context;
  for (auto& group : groups_) group->communicate_over(context);
}

nn::Tensors FSDPState::cast_inputs(nn::Tensors inputs) const {
  return policy_.cast_forward_inputs ? cast(std::move(inputs), policy_.param_dtype) : inputs;
}

nn::Tensors FSDPState::cast_outputs(nn::Tensors outputs) const {
  return cast(std::move(outputs), policy_.output_dtype);
}

nn::Tensors FSDPState::pre_forward(nn::Tensors inputs) {
  check_no_pending_reduction("forward");
  if (modules_.size() > 1 && to_run_.empty()) to_run_ = modules_;
  // A checkpointed forward that is recomputed: parameters only have to be present, also where an
  // earlier part of this backward pass gave them up.
  if (training_state_ == TrainingState::pre_backward) {
    for (auto& group : groups_) {
      group->unshard(false);
      group->wait_for_unshard();
    }
    return cast_inputs(std::move(inputs));
  }
  bool is_first = training_state_ != TrainingState::forward;
  training_state_ = TrainingState::forward;
  if (is_first) root_pre_forward();
  inputs = cast_inputs(std::move(inputs));
  for (auto& group : groups_) {
    bool enters = group->training_state() != TrainingState::forward;
    group->begin_forward();
    if (enters) inputs = reduces_after(*group, std::move(inputs));
  }
  if (!is_first) return inputs;
  for (FSDPState* target : forward_prefetch_)
    for (auto& group : target->groups_) group->prefetch(Pass::forward, *this);
  return inputs;
}

void FSDPState::root_pre_forward() {
  lazy_init();
  if (context_->iter_forward_root) return;
  context_->iter_forward_root = this;
  emit({.kind = EventKind::forward_root, .state = this});
  if (auto event = std::exchange(context_->post_optim_event, nullptr)) event();
  auto stream_event = std::exchange(context_->post_optim_stream_event, std::nullopt);
  comm_->streams().wait_for_shards(stream_event ? *stream_event : Stream::current().record());
}

nn::Tensors FSDPState::post_forward(nn::Module& module, nn::Tensors outputs) {
  bool completes = modules_.size() == 1 || completes_run(module);
  if (!completes || training_state_ == TrainingState::pre_backward)
    return cast_outputs(std::move(outputs));
  return cast_outputs(complete(std::move(outputs)));
}

// A module among several that failed counts as run.
void FSDPState::forward_failed(nn::Module& module) {
  if (modules_.size() > 1) post_forward(module, {});
}

bool FSDPState::completes_run(const nn::Module& module) {
  auto found = std::find(to_run_.begin(), to_run_.end(), &module);
  if (found == to_run_.end()) return false;
  to_run_.erase(found);
  return to_run_.empty();
}

nn::Tensors FSDPState::complete(nn::Tensors outputs) {
  for (auto& group : groups_) group->end_forward();
  register_pre_backward(outputs);
  training_state_ = TrainingState::idle;
  if (context_->iter_forward_root != this) return outputs;
  outputs = complete_others(std::move(outputs));
  comm_->streams().release_gather();
  context_->iter_forward_root = nullptr;
  return outputs;
}

// Groups of several modules, some of which weren't called, end with the root's forward.
nn::Tensors FSDPState::complete_others(nn::Tensors outputs) {
  auto& states = context_->all_states;
  for (auto it = states.rbegin(); it != states.rend(); ++it) {
    FSDPState& state = **it;
    if (state.to_run_.empty()) continue;
    state.to_run_.clear();
    for (auto& group : state.groups_) group->end_forward();
    state.register_pre_backward(outputs);
    state.training_state_ = TrainingState::idle;
    outputs = state.cast_outputs(std::move(outputs));
  }
  return outputs;
}

void FSDPState::register_pre_backward(nn::Tensors& outputs) {
  if (!grad_enabled()) return;
  for (Tensor& output : outputs) {
    if (!output.is_defined() || !output.requires_grad()) continue;
    register_hook(output, [this, owner = shared_from_this()](const Tensor&) {
      pre_backward();
      return Tensor();
    });
  }
}

}  // namespace simmesh::fsdp
