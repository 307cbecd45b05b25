#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/autograd/grad_dtype.h"
#include "core/autograd/node.h"
#include "core/autograd/view_record.h"
#include "core/ops/op.h"

namespace simmesh {

class AccumulateGrad;
class Variable;
using VariablePtr = boost::intrusive_ptr<Variable>;

// Variable is the tape's part of a tensor, shared by its copies: for a leaf the gradient that
// backward passes add to, for any other tensor the node that computed it. That of a view also knows
// the base, and gets a new node when its elements were changed through another tensor.
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

  // edge_of returns where a gradient of a tensor goes; no node where it requires none.
  static Edge edge_of(const Tensor& tensor) {
    return tensor.requires_grad() ? of(tensor)->edge(tensor) : Edge();
  }

  // A view requires a gradient where its base does.
  bool requires_grad() const override {
    return requires_grad_ || node_ || (view_ && view_->base->requires_grad());
  }
  void record(const OpCall& call, gsl::span<Tensor> outputs) const override;
  void track_view(const Tensor& of, Tensor& view) const override;
  std::unique_ptr<InPlaceRecord> begin_in_place(const OpCall& call,
                                                const Tensor& self) const override;
  const AttachedViews* views() const override;
  void check_in_place(const Op& op, const Tensor& self) const override;

  bool is_leaf() const { return node_ == nullptr; }
  const NodePtr& node() const { return node_; }
  std::uint32_t output() const { return output_; }
  void set_requires_grad(bool value) { requires_grad_ = value; }
  // set_node makes the tensor an output of a node, by its number among them. A gradient that the
  // tensor retains is from then on that of the new output.
  void set_node(Edge made_by);

  // view says of which tensor this one is a view, null for others.
  const ViewRecord* view() const { return view_.get(); }
  // base is the variable of the tensor of which this one is a view.
  Variable& base() const { return static_cast<Variable&>(*view_->base); }
  ViewKind view_kind() const { return view_ ? view_->kind : ViewKind::none; }
  void set_view(ViewRecord record) { view_ = std::make_unique<ViewRecord>(std::move(record)); }
  // renew gives a view a new node if its elements were changed since it got the one that it has.
  // Raises a RuntimeError for a view that the tape refuses to change.
  void renew(const Tensor& tensor);

  // edge is where a gradient of the tensor goes: to its node, or to a leaf's AccumulateGrad. No
  // node for a view of a tensor that requires a gradient, made while gradients were disabled.
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
  // retain makes the node of a tensor that is no leaf keep the tensor's gradient.
  void retain();

  std::vector<TensorHook> hooks;           // of a leaf; others have their node's
  std::vector<LeafHook> accumulate_hooks;  // of a leaf

 private:
  friend class AccumulateGrad;

  bool requires_grad_;
  GradDtype grad_dtype_;
  NodePtr node_;
  std::uint32_t output_ = 0;
  std::unique_ptr<ViewRecord> view_;
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

// with_own_elements returns a gradient whose elements each have a place of their own: a copy of one
// that repeats elements, such as the gradient of a sum.
Tensor with_own_elements(const Tensor& gradient);

// retain_grad makes a tensor that is no leaf keep the gradient that passes through it.
void retain_grad(Tensor& tensor);

// register_hook calls the hook on each gradient of the tensor, before the tensor's node gets it.
// Raises a RuntimeError for a tensor that requires no gradient.
void register_hook(Tensor& tensor, Variable::TensorHook hook);

// register_accumulate_hook calls the hook after a gradient was added to a leaf.
void register_accumulate_hook(Tensor& leaf, Variable::LeafHook hook);

}  // namespace simmesh
