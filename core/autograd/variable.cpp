#include "core/autograd/variable.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "core/autograd/saved_tensor.h"
#include "core/check/error.h"
#include "core/gradients/gradient_of.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/op_views.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

// OpNode is the tape's entry of one call of an op: its gradient rule, and the tensors that the rule
// reads.
class OpNode final : public Node {
 public:
  OpNode(const OpCall& call, const Gradient& gradient, gsl::span<const Tensor> outputs);

  std::string name() const override { return op_.name; }
  const Op& op() const { return op_; }
  Gradients apply(Gradients gradients) override;
  void release() override;
  bool takes_unrounded() const override;

 private:
  const Op& op_;
  const Gradient& gradient_;
  Attributes attributes_;
  TensorTypes input_types_;
  std::vector<SavedTensor> inputs_, outputs_;
  bool released_ = false;
};

using Flags = boost::container::small_vector<bool, 8>;

bool is_named(std::uint32_t positions, std::size_t index) {
  return index < 32 ? (positions >> index & 1) != 0 : positions == Saves::all;
}

// True if an input among those that `among` names, other than the one at index, requires a
// gradient.
bool others_require_grad(gsl::span<const Tensor> inputs, std::size_t index, std::uint32_t among) {
  for (std::size_t other = 0; other < inputs.size(); ++other)
    if (other != index && is_named(among, other) && inputs[other].requires_grad()) return true;
  return false;
}

// A term added to a product doesn't matter for which factors the product saves.
bool is_saved(const Saves& saves, gsl::span<const Tensor> inputs, std::size_t index) {
  if (!is_named(saves.inputs, index)) return false;
  if (saves.crosswise) return others_require_grad(inputs, index, saves.inputs);
  return !is_named(saves.for_others, index) || others_require_grad(inputs, index, Saves::all);
}

Tensor saved_output(const Tensor& output) {
  return output.distribution() ? output.distribution()->saved_output(output) : output.detach();
}

gsl::span<const bool> as_span(const Flags& flags) { return {flags.data(), flags.size()}; }

OpNode::OpNode(const OpCall& call, const Gradient& gradient, gsl::span<const Tensor> outputs)
    : Node(next_sequence()),
      op_(call.op),
      gradient_(gradient),
      attributes_(call.attributes),
      input_types_(types_of(call.inputs)),
      inputs_(call.inputs.size()),
      outputs_(outputs.size()) {
  for (const Tensor& input : call.inputs)
    add_edge(input.requires_grad() ? Variable::of(input)->edge(input) : Edge());
  for (const Tensor& output : outputs) add_output(type_of(output));
  const Saves& saves = gradient_.saves;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (is_saved(saves, call.inputs, i)) inputs_[i] = SavedTensor(call.inputs[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (is_named(saves.outputs, i)) outputs_[i] = SavedTensor(saved_output(outputs[i]));
}

Gradients OpNode::apply(Gradients gradients) {
  if (released_)
    raise(ErrorKind::runtime_error, "autograd/backward",
          "Trying to backward through the graph a second time: what {} saved was freed by the "
          "first pass, unless that was told to retain the graph",
          op_.name);
  std::vector<Tensor> inputs, outputs;
  for (const SavedTensor& saved : inputs_)
    inputs.push_back(saved.is_defined() ? saved.unpack(*this) : Tensor());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs.push_back(outputs_[i].is_defined() ? outputs_[i].unpack(*this) : Tensor());
    if (outputs_[i].is_defined())
      outputs[i].set_tracking(new Variable(NodePtr(this), std::uint32_t(i)));
  }
  Flags needs, unfinished;
  for (const Edge& edge : edges()) {
    needs.push_back(edge.node != nullptr);
    unfinished.push_back(edge.node && edge.node->takes_unrounded());
  }
  KeepUnrounded scope(takes_unrounded());
  return gradient_.rule(
      GradientCall({op_, attributes_, inputs, outputs, input_types_, output_types(), gradients,
                    as_span(needs), as_span(unfinished)}));
}

// A view that repeats elements adds up their gradients, as an operation does whose gradient is
// rounded.
bool OpNode::takes_unrounded() const {
  if (!op_.view && !op_.moves) return false;
  if (op_.view && numel(output_types()[0].shape) > numel(input_types_[0].shape)) return false;
  return std::any_of(edges().begin(), edges().end(),
                     [](const Edge& edge) { return edge.node && edge.node->takes_unrounded(); });
}

void OpNode::release() {
  released_ = true;
  inputs_.clear();
  outputs_.clear();
}

}  // namespace

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
  // An op that makes it another view, such as transpose_, changes no element.
  if (made && made->op().view && !op.view)
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
  KeepUnrounded scope;
  if (!grad_.is_defined()) {
    grad_ = grad_enabled() ? gradient : gradient.detach();
    return;
  }
  Tensor sum = add(grad_, gradient);
  grad_ = grad_enabled() ? sum : to(sum, grad_.dtype());
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
