#include <algorithm>
#include <fmt/format.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/shapes/factories.h"
#include "pipeline/stage/stage.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* inference_where = "pipeline/metadata";

Tensor tensor_like(const TensorMeta& meta) {
  Tensor tensor = zeros(meta.shape, meta.dtype);
  if (meta.requires_grad) set_requires_grad(tensor);
  return tensor;
}

void check_given(std::int64_t stage, const StageMetas& given, const StageMetas& found) {
  if (given.inputs && found.inputs)
    check_metas(fmt::format("stage {} input", stage), *given.inputs, *found.inputs);
  if (given.outputs && found.outputs)
    check_metas(fmt::format("stage {} output", stage), *given.outputs, *found.outputs);
}

}  // namespace

void PipelineStage::use_given_metas() {
  metas_ = given_;
  metas_.input_grads = grad_metas_of(*metas_.inputs);
  metas_.output_grads = grad_metas_of(*metas_.outputs);
}

void PipelineStage::begin_inference() {
  metas_ = {};
  saved_buffers_.clear();
  for (auto& [name, module] : module_->named_modules())
    for (const nn::ParameterSlot& buffer : module->buffers())
      if (buffer.tensor.is_defined())
        saved_buffers_.emplace_back(buffer.tensor, buffer.tensor.detach().clone());
}

void PipelineStage::end_inference() {
  for (auto& [buffer, saved] : saved_buffers_) copy_(buffer, saved);
  saved_buffers_.clear();
  inferred_inputs_.clear();
  inferred_outputs_.clear();
  reshard();
}

const TensorMetas& PipelineStage::infer_forward(const nn::Tensors& args, const Keywords& keywords) {
  metas_.inputs = metas_of(args);
  inferred_inputs_.clear();
  for (const Tensor& arg : args) {
    Tensor leaf = arg.detach();
    if (arg.requires_grad()) set_requires_grad(leaf);
    inferred_inputs_.push_back(leaf);
  }
  return infer_outputs(keywords);
}

const TensorMetas& PipelineStage::infer_forward(const TensorMetas& inputs,
                                                const Keywords& keywords) {
  metas_.inputs = inputs;
  inferred_inputs_.clear();
  for (const TensorMeta& meta : inputs) inferred_inputs_.push_back(tensor_like(meta));
  return infer_outputs(keywords);
}

const TensorMetas& PipelineStage::infer_outputs(const Keywords& keywords) {
  GradMode mode(has_backward_);
  Keywords own;
  for (const auto& [name, value] : keywords) {
    const auto* tensor = std::get_if<Tensor>(&value);
    own.emplace(name, tensor != nullptr ? StepValue(tensor->detach()) : value);
  }
  inferred_outputs_ = run({stage_index(), 0, true}, inferred_inputs_, own);
  metas_.outputs = metas_of(inferred_outputs_);
  check_given(stage_index(), given_, metas_);
  return *metas_.outputs;
}

const GradMetas& PipelineStage::infer_backward(const LossFunction& loss, const Tensor& target,
                                               const Keywords& keywords) {
  if (!loss || !target.is_defined())
    raise(ErrorKind::runtime_error, inference_where,
          "stage {}: loss_fn and target required for last stage", stage_index());
  Tensor value = loss(inferred_outputs_, target.detach(), keywords);
  std::vector<GradientRoot> roots;
  if (value.requires_grad()) roots.push_back(root_of(value));
  return infer_input_grads(roots);
}

const GradMetas& PipelineStage::infer_backward(const GradMetas& output_grads) {
  metas_.output_grads = output_grads;
  if (output_grads.size() != inferred_outputs_.size())
    raise(ErrorKind::runtime_error, inference_where,
          "stage {}: expected gradients of {} outputs, got {}", stage_index(),
          inferred_outputs_.size(), output_grads.size());
  std::vector<GradientRoot> roots;
  for (std::size_t i = 0; i < output_grads.size(); ++i) {
    const Tensor& output = inferred_outputs_[i];
    if (output.requires_grad() && output_grads[i])
      roots.push_back(root_of(output, ones(output_grads[i]->shape, output_grads[i]->dtype)));
  }
  return infer_input_grads(roots);
}

const GradMetas& PipelineStage::infer_input_grads(gsl::span<const GradientRoot> roots) {
  bool any = std::any_of(inferred_inputs_.begin(), inferred_inputs_.end(),
                         [](const Tensor& input) { return input.requires_grad(); });
  if (any && !roots.empty()) SplitBackward(roots, inferred_inputs_).run_inputs();
  metas_.input_grads = grad_metas_of(*metas_.inputs);
  return *metas_.input_grads;
}

}  // namespace simmesh::pipeline
