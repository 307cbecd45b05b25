#include "pipeline/stage/stage.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/ops/compute_mode.h"
#include "fsdp/state/state.h"
#include "pipeline/stage/event.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* stage_where = "pipeline/stage";

std::string in_words(const nn::Tensors& tensors) {
  std::vector<std::string> texts;
  for (const Tensor& tensor : tensors)
    texts.push_back(
        fmt::format("{}{}", to_string(tensor.dtype()), to_string(DimSpan(tensor.shape()))));
  return join_text(texts, ", ");
}

nn::Tensors take(std::map<std::int64_t, nn::Tensors>& from, std::int64_t microbatch) {
  auto found = from.find(microbatch);
  if (found == from.end()) return {};
  nn::Tensors tensors = std::move(found->second);
  from.erase(found);
  return tensors;
}

// Returns a tensor that is computed from a leaf, so that its gradient is rounded as that of any
// result: on one device the input of a stage is one.
Tensor result_like(const Tensor& leaf) {
  Tensor result = leaf.detach();
  record_function("pipeline_input", {leaf}, {&result},
                  [](const Gradients& gradients) { return gradients; });
  return result;
}

}  // namespace

PipelineStage::PipelineStage(nn::Module& module, StageOptions options)
    : module_(&module),
      options_(std::move(options)),
      group_(options_.group ? *options_.group : ProcessGroup::world()) {
  if (stage_index() >= num_stages())
    raise(ErrorKind::value_error, stage_where, "stage index {} is out of range of {}",
          stage_index(), num_stages());
  if (group_.size() > num_stages())
    raise(ErrorKind::runtime_error, stage_where,
          "pipeline group size {} cannot be larger than number of stages {}", group_.size(),
          num_stages());
  if (options_.input_args) given_.inputs = metas_of(tensors_of(*options_.input_args));
  if (options_.output_args) given_.outputs = metas_of(tensors_of(*options_.output_args));
}

bool PipelineStage::is_sharded() const { return fsdp::FSDPState::of(*module_) != nullptr; }

ForwardContextHandle PipelineStage::register_forward_context(ForwardContext context) {
  if (*context_)
    raise(ErrorKind::runtime_error, stage_where,
          "a pipeline forward context is already registered: remove its handle before registering "
          "another");
  context_ = std::make_shared<ForwardContext>(std::move(context));
  return ForwardContextHandle(context_);
}

void PipelineStage::begin_call(bool has_backward) {
  has_backward_ = has_backward;
  if (reduction_) wait_reduction();
  states_.clear();
  received_inputs_.clear();
  received_grads_.clear();
  input_grads_.clear();
  split_.clear();
  weight_runners_.clear();
}

void PipelineStage::set_inputs(std::int64_t microbatch, nn::Tensors inputs) {
  received_inputs_[microbatch] = std::move(inputs);
}

void PipelineStage::set_output_grads(std::int64_t microbatch, nn::Tensors grads) {
  received_grads_[microbatch] = std::move(grads);
}

nn::Tensors PipelineStage::call_module(const nn::Tensors& inputs, const Keywords& keywords) {
  if (options_.forward) return options_.forward(*module_, inputs, keywords);
  if (!keywords.empty())
    raise(ErrorKind::type_error, stage_where,
          "forward() got an unexpected keyword argument '{}': give the stage a forward of its own",
          keywords.begin()->first);
  if (inputs.empty())
    raise(ErrorKind::type_error, stage_where,
          "forward() missing 1 required positional argument: expected inputs of stage {}, got none",
          stage_index());
  return module_->call(inputs);
}

// Runs the module in the registered context. Gradients of a replicated module only add up.
nn::Tensors PipelineStage::run(const PipelineStageInfo& info, const nn::Tensors& inputs,
                               const Keywords& keywords) {
  nn::Tensors outputs;
  bool has_ended = false;
  auto forward = [&] {
    if (options_.replication) options_.replication->set_requires_gradient_sync(false);
    outputs = call_module(inputs, keywords);
    if (options_.replication) options_.replication->set_requires_gradient_sync(true);
    has_ended = true;
  };
  if (!*context_) {
    forward();
    return outputs;
  }
  (*context_)(info, forward);
  if (!has_ended)
    raise(ErrorKind::runtime_error, stage_where,
          "a pipeline forward context suppressed an exception from the stage module: forward "
          "contexts must not suppress exceptions");
  return outputs;
}

// Makes the inputs that come from another stage results of leaves.
PipelineStage::ForwardState PipelineStage::track_inputs(nn::Tensors inputs) const {
  ForwardState state;
  state.inputs = std::move(inputs);
  state.leaves.resize(state.inputs.size());
  if (is_first()) return state;
  bool tracks = has_backward_ && grad_enabled();
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    Tensor leaf = state.inputs[i].detach();
    bool requires_grad = tracks && i < metas_.inputs->size() && (*metas_.inputs)[i].requires_grad;
    if (requires_grad) set_requires_grad(leaf);
    state.inputs[i] = requires_grad ? result_like(leaf) : leaf;
    state.leaves[i] = std::move(leaf);
  }
  return state;
}

nn::Tensors PipelineStage::forward(std::int64_t microbatch, const nn::Tensors& args,
                                   const Keywords& keywords) {
  ForwardState state = track_inputs(is_first() ? args : take(received_inputs_, microbatch));
  if (is_sharded() && has_backward_)
    fsdp::FSDPModule(*module_).set_manual_backward_finalization(true);
  if (options_.validates_tensors)
    check_metas(fmt::format("stage {} forward inputs", stage_index()), *metas_.inputs,
                metas_of(state.inputs));
  emit({.kind = EventKind::forward, .stage = stage_index(), .number = microbatch});
  nn::Tensors outputs;
  try {
    outputs = run({stage_index(), microbatch}, state.inputs, keywords);
  } catch (const Error& cause) {
    std::throw_with_nested(Error(
        ErrorKind::runtime_error, stage_where,
        fmt::format("[Stage {}] failed to run forward: args: {}; cause: {}: {}", stage_index(),
                    in_words(state.inputs), to_string(cause.kind()), cause.what())));
  }
  TensorMetas metas = metas_of(outputs);
  keep_outputs(microbatch, std::move(state), outputs);
  if (options_.validates_tensors && !is_last())
    check_metas(fmt::format("stage {} forward outputs", stage_index()), *metas_.outputs, metas);
  return outputs;
}

void PipelineStage::keep_outputs(std::int64_t microbatch, ForwardState state,
                                 const nn::Tensors& outputs) {
  for (const Tensor& output : outputs) {
    Output kept{output, {}, meta_of(output)};
    if (has_backward_ && output.requires_grad()) kept.edge = Variable::edge_of(output);
    state.outputs.push_back(std::move(kept));
  }
  states_[microbatch] = std::move(state);
  peak_states_ = std::max(peak_states_, states_.size());
}

// A replicated module and a weight builder may need the outputs in backward.
bool PipelineStage::may_release() const {
  return !is_last() && !options_.replication && !options_.dw_builder;
}

nn::Tensors PipelineStage::outputs_to_send(std::int64_t microbatch) {
  nn::Tensors outputs;
  for (Output& output : states_.at(microbatch).outputs) {
    output.is_sent = true;
    outputs.push_back(output.live.detach());
  }
  return outputs;
}

bool PipelineStage::release_outputs(std::int64_t microbatch) {
  auto state = states_.find(microbatch);
  if (state == states_.end() || !may_release()) return false;
  bool releases = false;
  for (Output& output : state->second.outputs) {
    if (!std::exchange(output.is_sent, false)) continue;
    output.live = Tensor();
    releases = true;
  }
  return releases;
}

}  // namespace simmesh::pipeline
