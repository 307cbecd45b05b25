#include <algorithm>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "fsdp/state/state.h"
#include "pipeline/stage/event.h"
#include "pipeline/stage/stage.h"

namespace simmesh::pipeline {

std::vector<fsdp::UnshardHandle> PipelineStage::unshard() {
  std::vector<fsdp::UnshardHandle> handles;
  for (auto& [name, module] : module_->named_modules())
    if (fsdp::FSDPState::of(*module))
      handles.push_back(*fsdp::FSDPModule(*module).unshard(/*async_op=*/true));
  return handles;
}

void PipelineStage::reshard() {
  for (auto& [name, module] : module_->named_modules())
    if (fsdp::FSDPState::of(*module)) fsdp::FSDPModule(*module).reshard();
}

std::vector<Tensor> PipelineStage::own_parameters() const {
  std::vector<Tensor> own = module_->parameters();
  std::erase_if(own, [this](const Tensor& parameter) {
    return std::any_of(divided_elsewhere_.begin(), divided_elsewhere_.end(),
                       [&](const Tensor& other) { return nn::is_same_tensor(other, parameter); });
  });
  return own;
}

void PipelineStage::set_divisor(std::int64_t divisor, const std::vector<Tensor>& others) {
  divisor_ = divisor;
  divided_elsewhere_ = others;
  if (!has_backward_ || divisor == 1 || !put_aside_.empty() || has_unreduced_) return;
  for (Tensor& parameter : own_parameters()) {
    Tensor gradient = grad_of(parameter);
    if (!gradient.is_defined()) continue;
    put_aside_.emplace_back(parameter, std::move(gradient));
    set_grad(parameter, {});
  }
}

void PipelineStage::divide_gradients() {
  if (divisor_ == 1) return;
  emit({.kind = EventKind::divide, .stage = stage_index(), .number = divisor_});
  if (!has_backward_) return;
  NoGrad unrecorded;
  for (Tensor& parameter : own_parameters()) {
    Tensor gradient = grad_of(parameter);
    if (gradient.is_defined()) set_grad(parameter, div(gradient, double(divisor_)));
  }
  KeepUnrounded scope;
  for (auto& [parameter, earlier] : put_aside_) {
    Tensor gradient = grad_of(parameter);
    set_grad(parameter, gradient.is_defined() ? add(earlier, gradient) : earlier);
  }
  put_aside_.clear();
}

void PipelineStage::start_reduction() {
  emit({.kind = EventKind::start_reduction, .stage = stage_index()});
  has_unreduced_ = false;
  fsdp::FSDPModule module(*module_);
  module.set_requires_gradient_sync(true);
  module.set_reshard_after_backward(true);
  reduction_ = module.finalize_backward(/*async_op=*/true);
}

void PipelineStage::wait_reduction() {
  emit({.kind = EventKind::wait_reduction, .stage = stage_index()});
  if (!reduction_)
    raise(ErrorKind::runtime_error, "pipeline/stage", "expected a reduction that was started");
  reduction_->wait();
  reduction_.reset();
  fsdp::FSDPModule(*module_).set_manual_backward_finalization(false);
  divide_gradients();
}

}  // namespace simmesh::pipeline
