#include <fmt/format.h>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "fsdp/state/state.h"
#include "pipeline/stage/event.h"
#include "pipeline/stage/stage.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* backward_where = "pipeline/stage";

// Runs a backward, whose errors become the cause of a RuntimeError.
template <class Run>
void run_backward(std::int64_t stage, const char* what, const Run& run) {
  try {
    run();
  } catch (const Error& cause) {
    std::throw_with_nested(Error(ErrorKind::runtime_error, backward_where,
                                 fmt::format("[Stage {}] failed to run stage {}: {}: {}", stage,
                                             what, to_string(cause.kind()), cause.what())));
  }
}

}  // namespace

std::vector<GradientRoot> PipelineStage::roots_of(const ForwardState& state,
                                                  const BackwardCall& call) {
  std::vector<GradientRoot> roots;
  if (is_last()) {
    if (call.loss.requires_grad()) roots.push_back(root_of(call.loss));
    return roots;
  }
  nn::Tensors grads = std::move(received_grads_[call.microbatch]);
  received_grads_.erase(call.microbatch);
  grads.resize(state.outputs.size());
  if (options_.validates_tensors) {
    GradMetas actual;
    for (const Tensor& grad : grads)
      actual.push_back(grad.is_defined() ? std::optional(meta_of(grad)) : std::nullopt);
    check_grad_metas(fmt::format("stage {} backward input (output_grads)", stage_index()),
                     *metas_.output_grads, actual);
  }
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const Output& output = state.outputs[i];
    if (!output.edge.node || !grads[i].is_defined()) continue;
    if (grads[i].shape() != output.meta.shape)
      raise(ErrorKind::runtime_error, backward_where,
            "[Stage {}] failed to run stage backward: expected a gradient of the shape {} of "
            "output {}, got {}",
            stage_index(), to_string(DimSpan(output.meta.shape)), i,
            to_string(DimSpan(grads[i].shape())));
    roots.push_back({output.edge, grads[i]});
  }
  return roots;
}

// Sharded gradients are reduced at the end of the call, replicated ones with the last backward.
void PipelineStage::prepare_parallel(bool is_last) {
  if (options_.replication && is_last) options_.replication->prepare_for_backward();
  if (!is_sharded()) return;
  has_unreduced_ = true;
  fsdp::FSDPModule module(*module_);
  module.set_reshard_after_backward(false);
  module.set_requires_gradient_sync(false);
}

void PipelineStage::backward(const BackwardCall& call) {
  if (!has_backward_) return;
  emit({.kind = call.is_full ? EventKind::backward : EventKind::backward_input,
        .stage = stage_index(),
        .number = call.microbatch,
        .is_last = call.is_full && call.is_last});
  auto found = states_.find(call.microbatch);
  if (found == states_.end())
    raise(ErrorKind::key_error, backward_where,
          "expected a backward after the forward of micro-batch {} of stage {}", call.microbatch,
          stage_index());
  ForwardState state = std::move(found->second);
  states_.erase(found);
  std::vector<GradientRoot> roots = roots_of(state, call);
  if (call.is_full || options_.dw_builder) {
    run_full(state, roots, call);
  } else {
    run_inputs(state, roots, call);
  }
}

void PipelineStage::run_full(const ForwardState& state, const std::vector<GradientRoot>& roots,
                             const BackwardCall& call) {
  prepare_parallel(call.is_last);
  run_backward(stage_index(), "backward", [&] { backward_from(roots); });
  if (options_.dw_builder) {
    std::function<void()> weights = options_.dw_builder();
    if (call.is_full)
      weights();
    else
      weight_runners_[call.microbatch] = std::move(weights);
  }
  nn::Tensors grads;
  for (const Tensor& leaf : state.leaves)
    grads.push_back(leaf.is_defined() ? grad_of(leaf) : Tensor());
  keep_input_grads(state, std::move(grads), call.microbatch);
}

void PipelineStage::run_inputs(const ForwardState& state, const std::vector<GradientRoot>& roots,
                               const BackwardCall& call) {
  nn::Tensors inputs;
  for (std::size_t i = 0; i < state.inputs.size(); ++i)
    if (state.leaves[i].is_defined() && state.leaves[i].requires_grad())
      inputs.push_back(state.inputs[i]);
  auto& pass = split_[call.microbatch] = std::make_unique<SplitBackward>(roots, inputs);
  nn::Tensors grads(state.inputs.size());
  if (!inputs.empty()) {
    prepare_parallel(false);
    nn::Tensors computed;
    run_backward(stage_index(), "backward input", [&] { computed = pass->run_inputs(); });
    for (std::size_t i = 0, next = 0; i < grads.size(); ++i)
      if (state.leaves[i].is_defined() && state.leaves[i].requires_grad())
        grads[i] = computed[next++];
  }
  keep_input_grads(state, std::move(grads), call.microbatch);
}

void PipelineStage::keep_input_grads(const ForwardState& state, nn::Tensors grads,
                                     std::int64_t microbatch) {
  if (is_first()) return;
  for (std::size_t i = 0; i < grads.size(); ++i)
    if (!grads[i].is_defined() && state.leaves[i].requires_grad())
      grads[i] = zeros(state.inputs[i].shape(), state.inputs[i].dtype());
  input_grads_[microbatch] = std::move(grads);
}

nn::Tensors PipelineStage::take_input_grads(std::int64_t microbatch) {
  auto found = input_grads_.find(microbatch);
  if (found == input_grads_.end()) return {};
  nn::Tensors grads = std::move(found->second);
  input_grads_.erase(found);
  return grads;
}

void PipelineStage::backward_weight(std::int64_t microbatch, bool is_last) {
  if (!has_backward_) return;
  emit({.kind = EventKind::backward_weight,
        .stage = stage_index(),
        .number = microbatch,
        .is_last = is_last});
  if (auto runner = weight_runners_.extract(microbatch)) return runner.mapped()();
  auto pass = split_.extract(microbatch);
  if (!pass)
    raise(ErrorKind::assertion_error, backward_where,
          "[Stage {}] expected the backward of the inputs of micro-batch {} before that of the "
          "weights",
          stage_index(), microbatch);
  prepare_parallel(is_last);
  // A forward may have freed parameters that the backward of the inputs had gathered.
  if (is_sharded() && !is_first())
    for (fsdp::UnshardHandle& handle : unshard()) handle.wait();
  run_backward(stage_index(), "backward weight", [&] { pass.mapped()->run_leaves(); });
}

}  // namespace simmesh::pipeline
