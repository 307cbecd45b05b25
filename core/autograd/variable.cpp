#include "core/autograd/variable.h"

#include "core/autograd/accumulate_grad.h"
#include "core/autograd/op_node.h"
#include "core/check/error.h"
#include "core/gradients/gradient_of.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/op_views.h"

namespace simmesh {

Variable::~Variable() = default;

void Variable::record(const OpCall& call, gsl::span<Tensor> outputs) const {
  const Gradient* gradient = gradient_of(call.op);
  if (!gradient) return;
  NodePtr node(new OpNode(call, *gradient, outputs));
  for (std::size_t i = 0; i < std::size_t(outputs.size()); ++i)
    if (is_floating_point(outputs[i].dtype()))
      outputs[i].set_tracking(new Variable(node, std::uint32_t(i)));
}

void Variable::rebase(const OpCall& call, Tensor& self) const {
  const Gradient* gradient = gradient_of(call.op);
  if (!gradient)
    raise(ErrorKind::runtime_error, call.op.name,
          "expected an operation that has a gradient, to change a tensor in place on the tape");
  Tensor output = self.detach();
  NodePtr node(new OpNode(call, *gradient, gsl::span<const Tensor>(&output, 1)));
  if (Variable* variable = Variable::of(self))
    variable->set_node(std::move(node), 0);
  else
    self.set_tracking(new Variable(std::move(node), 0));
}

const AttachedViews* Variable::views() const {
  return requires_grad_ && grad_enabled() ? &op_views() : nullptr;
}

void Variable::check_in_place(const Op& op) const {
  if (!requires_grad_) return;
  if (is_leaf())
    raise(ErrorKind::runtime_error, op.name,
          "a leaf Variable that requires grad is being used in an in-place operation");
  auto* made = dynamic_cast<const OpNode*>(node_.get());
  if (made && made->op().view)
    raise(ErrorKind::runtime_error, op.name,
          "expected a tensor that owns its elements, got a view made by {}: a view that requires "
          "a gradient can't be changed in place",
          made->op().name);
}

void Variable::set_node(NodePtr node, std::uint32_t output) {
  node_ = std::move(node);
  output_ = output;
  requires_grad_ = true;
}

Edge Variable::edge(const Tensor& tensor) {
  if (node_) return {node_, output_};
  if (accumulation_) return {accumulation_, 0};
  return {new AccumulateGrad(tensor), 0};
}

const std::shared_ptr<Tensor>& Variable::retained() {
  if (!retained_) retained_ = std::make_shared<Tensor>();
  return retained_;
}

Tensor Variable::grad() const { return retained_ ? *retained_ : grad_; }

void Variable::set_grad(Tensor grad) { grad_ = std::move(grad); }

void Variable::accumulate(const Tensor& gradient) {
  UnroundedSums scope;
  if (grad_.is_defined())
    grad_ = add(grad_, gradient);
  else
    grad_ = grad_enabled() ? gradient : gradient.detach();
}

void set_requires_grad(Tensor& tensor, bool value) {
  Variable* variable = Variable::of(tensor);
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

Tensor grad_of(const Tensor& tensor) {
  Variable* variable = Variable::of(tensor);
  return variable ? variable->grad() : Tensor();
}

void set_grad(Tensor& tensor, Tensor grad) {
  if (!tensor.tracking()) tensor.set_tracking(new Variable(false));
  Variable::of(tensor)->set_grad(std::move(grad));
}

namespace {

Variable& requiring(Tensor& tensor, std::string_view where) {
  if (!tensor.requires_grad())
    raise(ErrorKind::runtime_error, where, "expected a tensor that requires a gradient");
  return *Variable::of(tensor);
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
  // The hook belongs to the node, which must not own the variable: that owns the node.
  register_hook(tensor, [kept = variable.retained()](const Tensor& gradient) {
    *kept = gradient;
    return Tensor();
  });
}

void register_accumulate_hook(Tensor& leaf, Variable::LeafHook hook) {
  Variable& variable = requiring(leaf, "autograd/register_accumulate_hook");
  if (!variable.is_leaf())
    raise(ErrorKind::runtime_error, "autograd/register_accumulate_hook",
          "expected a leaf, got the result of {}", variable.node()->name());
  variable.accumulate_hooks.push_back(std::move(hook));
}

}  // namespace simmesh
