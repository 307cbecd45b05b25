#include "pipeline/runtime/step_run.h"

#include "core/check/error.h"
#include "pipeline/stage/event.h"

namespace simmesh::pipeline {

namespace {

nn::Tensors detached(const nn::Tensors& tensors) {
  nn::Tensors result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.detach());
  return result;
}

}  // namespace

StepRun::StepRun(const Parts& parts)
    : parts_(parts),
      posts_(parts.stages, parts.sends),
      losses_(parts.microbatches.arguments.size()),
      outputs_(parts.microbatches.arguments.size()) {}

void StepRun::compute_loss(std::int64_t microbatch, const nn::Tensors& outputs) {
  if (!parts_.loss) return;
  if (parts_.microbatches.targets.empty())
    raise(ErrorKind::type_error, "pipeline/loss",
          "expected a target for the loss of the last stage, got none");
  emit({.kind = EventKind::loss, .number = losses_computed_++});
  losses_[std::size_t(microbatch)] = parts_.loss(
      outputs, parts_.microbatches.targets[std::size_t(microbatch)], parts_.loss_kwargs);
}

void StepRun::forward(const Action& action) {
  PipelineStage& stage = parts_.stages.at(action.stage);
  std::int64_t microbatch = *action.microbatch;
  const MicrobatchArguments& given = parts_.microbatches.arguments[std::size_t(microbatch)];
  nn::Tensors args = stage.is_first() ? tensors_of(given.args) : nn::Tensors();
  nn::Tensors outputs = stage.forward(microbatch, args, given.kwargs);
  if (stage.is_last()) {
    compute_loss(microbatch, outputs);
    if (parts_.keeps_outputs) outputs_[std::size_t(microbatch)] = outputs;
  }
  PipelineStage* next = parts_.stages.find(action.stage + 1);
  if (next == nullptr) return;
  emit({.kind = EventKind::local_input, .stage = next->stage_index(), .number = microbatch});
  next->set_inputs(microbatch, detached(outputs));
}

void StepRun::backward(const Action& action, bool is_last) {
  PipelineStage& stage = parts_.stages.at(action.stage);
  std::int64_t microbatch = *action.microbatch;
  auto index = std::size_t(microbatch);
  stage.backward({.microbatch = microbatch,
                  .loss = losses_[index],
                  .is_full = action.kind == ActionKind::full_backward,
                  .is_last = is_last});
  if (!stage.has_backward()) return;
  // The graph of the outputs is done with.
  if (stage.is_last() && !stage.is_first()) outputs_[index] = detached(outputs_[index]);
  PipelineStage* previous = parts_.stages.find(action.stage - 1);
  if (previous == nullptr) return;
  emit({.kind = EventKind::local_grad, .stage = previous->stage_index(), .number = microbatch});
  previous->set_output_grads(microbatch, stage.take_input_grads(microbatch));
}

void StepRun::backward_weight(const Action& action, bool is_last) {
  parts_.stages.at(action.stage).backward_weight(*action.microbatch, is_last);
}

void StepRun::release(const Action& action) {
  if (parts_.stages.at(action.stage).release_outputs(*action.microbatch))
    emit({.kind = EventKind::release, .stage = action.stage, .number = *action.microbatch});
}

}  // namespace simmesh::pipeline
