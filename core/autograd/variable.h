#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/autograd/grad_dtype.h"
#include "core/autograd/node.h"
#include "core/ops/op.h"

namespace simmesh {

class AccumulateGrad;

// Variable is the tape's part of a tensor, shared by its copies: for a leaf the gradient that
// backward passes add to, for any other tensor the node that computed it.
class Variable final : public Tracking {
 public:
  // TensorHook sees a gradient of the tensor, and returns its replacement; an undefined tensor for
  // no change.
  using TensorHook = std::function<Tensor(const Tensor& gradient)>;
  // LeafHook runs after a gradient was added to a leaf.
  using LeafHook = std::function<void(Tensor& leaf)>;

  // Makes a leaf.
  explicit Variable(bool requires_grad) : requires_grad_(requires_grad) {}
  // Makes an output of a node.
  Variable(NodePtr node, std::uint32_t output)
      : requires_grad_(true), node_(std::move(node)), output_(output) {}
  ~Variable() override;

  // of returns a tensor's variable, null where it has none.
  static Variable* of(const Tensor& tensor) {
    return static_cast<Variable*>(tensor.tracking().get());
  }

  bool requires_grad() const override { return requires_grad_; }
  void record(const OpCall& call, gsl::span<Tensor> outputs) const override;
  void rebase(const OpCall& call, Tensor& self) const override;

  const AttachedViews* views() const override;
  void check_in_place(const Op& op) const override;

  bool is_leaf() const { return node_ == nullptr; }
  const NodePtr& node() const { return node_; }
  std::uint32_t output() const { return output_; }
  void set_requires_grad(bool value) { requires_grad_ = value; }
  // set_node makes the tensor an output of a node, by its number among them.
  void set_node(NodePtr node, std::uint32_t output);

  // edge is where a gradient of the tensor goes: to its node, or to a leaf's AccumulateGrad.
  Edge edge(const Tensor& tensor);

  // The gradient of a leaf, or of a tensor that retains it.
  Tensor grad() const;
  void set_grad(Tensor grad);
  // accumulate adds to the gradient, whose dtype stays unless the pass is recorded. In exact
  // arithmetic the gradient is unrounded as long as nothing else writes it.
  void accumulate(const Tensor& gradient);
  // The dtype policy of a leaf's gradient.
  const GradDtype& grad_dtype() const { return grad_dtype_; }
  void set_grad_dtype(GradDtype policy) { grad_dtype_ = policy; }
  // retained holds the gradient of a tensor that is no leaf, which a hook keeps there.
  const std::shared_ptr<Tensor>& retained();

  std::vector<TensorHook> hooks;           // of a leaf; others have their node's
  std::vector<LeafHook> accumulate_hooks;  // of a leaf

 private:
  friend class AccumulateGrad;

  bool requires_grad_;
  GradDtype grad_dtype_;
  NodePtr node_;
  std::uint32_t output_ = 0;
  AccumulateGrad* accumulation_ = nullptr;  // not owned: it owns the leaf
  Tensor grad_;
  std::shared_ptr<Tensor> retained_;
};

// set_requires_grad makes a tensor a leaf that requires a gradient, or one that doesn't. Raises a
// RuntimeError for the result of a recorded operation and for dtypes that aren't floating.
void set_requires_grad(Tensor& tensor, bool value = true);

// grad_of returns the gradient of a leaf, or of a tensor that retains it; undefined where there is
// none. set_grad replaces it; an undefined tensor drops it. Raises a RuntimeError for a gradient of
// another dtype than the one that set_grad_dtype set.
Tensor grad_of(const Tensor& tensor);
void set_grad(Tensor& tensor, Tensor grad);

// grad_dtype_of returns the policy of a leaf. set_grad_dtype sets it: from then on each gradient is
// converted when it reaches the leaf, before gradients of several uses add up. Raises a
// RuntimeError for a tensor that is no leaf, and where the leaf has a gradient of another dtype.
GradDtype grad_dtype_of(const Tensor& leaf);
void set_grad_dtype(Tensor& leaf, GradDtype policy);

// retain_grad makes a tensor that is no leaf keep the gradient that passes through it.
void retain_grad(Tensor& tensor);

// register_hook calls the hook on each gradient of the tensor, before the tensor's node gets it.
// Raises a RuntimeError for a tensor that requires no gradient.
void register_hook(Tensor& tensor, Variable::TensorHook hook);

// register_accumulate_hook calls the hook after a gradient was added to a leaf.
void register_accumulate_hook(Tensor& leaf, Variable::LeafHook hook);

}  // namespace simmesh
