#include "core/autograd/variable.h"

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/memory_overlap.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

// AccumulateGrad ends the tape at a leaf: it adds arriving gradients to the leaf's. A leaf has one
// at a time, which the nodes that use the leaf own.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  ~AccumulateGrad() override;

  std::string name() const override { return "AccumulateGrad"; }
  const Tensor& leaf() const { return leaf_; }
  Gradients apply(Gradients gradients) override;
  bool takes_unrounded() const override { return true; }
  std::optional<DType> gradient_dtype(std::uint32_t output) const override;

 private:
  Tensor leaf_;
};

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : Node(Node::first), leaf_(leaf) {
  add_output(type_of(leaf));
  Variable::of(leaf_)->accumulation_ = this;
}

AccumulateGrad::~AccumulateGrad() { Variable::of(leaf_)->accumulation_ = nullptr; }

std::optional<DType> AccumulateGrad::gradient_dtype(std::uint32_t output) const {
  return Variable::of(leaf_)->grad_dtype().dtype_for(output_types()[output].dtype);
}

Gradients AccumulateGrad::apply(Gradients gradients) {
  Variable& variable = *Variable::of(leaf_);
  Tensor gradient = std::move(gradients.front());
  if (!gradient.is_defined()) return {};
  for (const auto& hook : std::vector(variable.hooks)) {
    Tensor changed = hook(gradient);
    if (changed.is_defined()) gradient = changed;
  }
  variable.accumulate(gradient);
  for (const auto& hook : std::vector(variable.accumulate_hooks)) hook(leaf_);
  return {};
}

Variable::~Variable() = default;

void Variable::set_node(Edge made_by) {
  if (retained_) {
    if (node_) node_->retain(output_, nullptr);
    made_by.node->retain(made_by.output, retained_);
  }
  node_ = std::move(made_by.node);
  output_ = made_by.output;
}

Edge Variable::edge(const Tensor& tensor) {
  renew(tensor);
  if (node_) return {node_, output_};
  if (!requires_grad_) return {};
  if (accumulation_) return {accumulation_, 0};
  return {new AccumulateGrad(tensor), 0};
}

void Variable::retain() {
  if (retained_) return;
  retained_ = std::make_shared<Tensor>();
  node_->retain(output_, retained_);
}

Tensor Variable::grad() const { return retained_ ? *retained_ : grad_; }

void Variable::set_grad(Tensor grad) { grad_ = std::move(grad); }

void Variable::accumulate(const Tensor& gradient) {
  KeepUnrounded scope;
  if (!grad_.is_defined()) {
    Tensor own = with_own_elements(gradient);
    grad_ = grad_enabled() ? own : own.detach();
    return;
  }
  Tensor sum = add(grad_, gradient);
  grad_ = grad_enabled() ? sum : to(sum, grad_.dtype());
}

void set_requires_grad(Tensor& tensor, bool value) {
  Variable* variable = Variable::of(tensor);
  if (variable) variable->renew(tensor);
  if (variable && !variable->is_leaf())
    raise(ErrorKind::runtime_error, "autograd/set_requires_grad",
          "you can only change requires_grad flags of leaf variables, got the result of {}",
          variable->node()->name());
  if (value && !is_floating_point(tensor.dtype()))
    raise(ErrorKind::runtime_error, "autograd/set_requires_grad",
          "only Tensors of floating point dtype can require gradients, got {}",
          to_string(tensor.dtype()));
  if (variable)
    variable->set_requires_grad(value);
  else if (value)
    tensor.set_tracking(new Variable(value));
}

Tensor with_own_elements(const Tensor& gradient) {
  bool repeats = gradient.is_defined() && repeats_elements(gradient.local_part());
  return repeats ? clone(gradient) : gradient;
}

Tensor grad_of(const Tensor& tensor) {
  Variable* variable = Variable::of(tensor);
  return variable ? variable->grad() : Tensor();
}

void set_grad(Tensor& tensor, Tensor grad) {
  if (!tensor.tracking()) tensor.set_tracking(new Variable(false));
  Variable& variable = *Variable::of(tensor);
  const GradDtype& policy = variable.grad_dtype();
  if (grad.is_defined() && policy.is_set() &&
      policy.dtype_for(tensor.dtype()).value_or(grad.dtype()) != grad.dtype())
    raise(ErrorKind::runtime_error, "autograd/set_grad",
          "expected a gradient of the tensor's grad_dtype {}, got one of dtype {}",
          to_string(*policy.dtype_for(tensor.dtype())), to_string(grad.dtype()));
  variable.set_grad(std::move(grad));
}

GradDtype grad_dtype_of(const Tensor& leaf) {
  Variable* variable = Variable::of(leaf);
  return variable ? variable->grad_dtype() : GradDtype();
}

void set_grad_dtype(Tensor& leaf, GradDtype policy) {
  if (!leaf.tracking()) leaf.set_tracking(new Variable(false));
  Variable& variable = *Variable::of(leaf);
  if (!variable.is_leaf())
    raise(ErrorKind::runtime_error, "autograd/set_grad_dtype",
          "grad_dtype can only be set on leaf tensors, got the result of {}",
          variable.node()->name());
  Tensor gradient = variable.grad();
  std::optional<DType> dtype = policy.dtype_for(leaf.dtype());
  if (gradient.is_defined() && dtype && gradient.dtype() != *dtype)
    raise(ErrorKind::runtime_error, "autograd/set_grad_dtype",
          "cannot set grad_dtype to {} because there is already a gradient with dtype {}",
          to_string(*dtype), to_string(gradient.dtype()));
  variable.set_grad_dtype(policy);
}

namespace {

Variable& requiring(Tensor& tensor, std::string_view where) {
  if (!tensor.requires_grad())
    raise(ErrorKind::runtime_error, where, "expected a tensor that requires a gradient");
  Variable& variable = *Variable::of(tensor);
  variable.renew(tensor);
  return variable;
}

}  // namespace

void register_hook(Tensor& tensor, Variable::TensorHook hook) {
  Variable& variable = requiring(tensor, "autograd/register_hook");
  if (variable.is_leaf()) {
    variable.hooks.push_back(std::move(hook));
    return;
  }
  variable.node()->pre_hooks().push_back(
      [hook = std::move(hook), output = variable.output()](Gradients& gradients) {
        Tensor& gradient = gradients[output];
        if (!gradient.is_defined()) return;
        Tensor changed = hook(gradient);
        if (changed.is_defined()) gradient = changed;
      });
}

void retain_grad(Tensor& tensor) {
  Variable& variable = requiring(tensor, "autograd/retain_grad");
  if (variable.is_leaf()) return;
  variable.retain();
}

void register_accumulate_hook(Tensor& leaf, Variable::LeafHook hook) {
  Variable& variable = requiring(leaf, "autograd/register_accumulate_hook");
  if (!variable.is_leaf())
    raise(ErrorKind::runtime_error, "autograd/register_accumulate_hook",
          "expected a leaf, got the result of {}", variable.node()->name());
  variable.accumulate_hooks.push_back(std::move(hook));
}

}  // namespace simmesh
