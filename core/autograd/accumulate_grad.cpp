#include "core/autograd/accumulate_grad.h"

namespace simmesh {

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : Node(Node::first), leaf_(leaf) {
  add_output(type_of(leaf));
  Variable::of(leaf_)->accumulation_ = this;
}

AccumulateGrad::~AccumulateGrad() { Variable::of(leaf_)->accumulation_ = nullptr; }

Gradients AccumulateGrad::apply(Gradients gradients) {
  Variable& variable = *Variable::of(leaf_);
  Tensor gradient = std::move(gradients.front());
  if (!gradient.is_defined()) return {};
  for (const auto& hook : std::vector(variable.hooks)) {
    Tensor changed = hook(gradient);
    if (changed.is_defined()) gradient = changed;
  }
  variable.accumulate(std::move(gradient));
  for (const auto& hook : std::vector(variable.accumulate_hooks)) hook(leaf_);
  return {};
}

}  // namespace simmesh
