#include "core/autograd/copy_slices.h"
#include "core/autograd/op_node.h"
#include "core/autograd/storage_lineages.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/gradients/gradient_of.h"
#include "core/ops/compute_mode.h"
#include "core/ops/functions/op_views.h"

namespace simmesh {

namespace {

// True if one tensor is a view of another one: the elements of both are in one storage.
bool is_view_of(const Tensor& view, const Tensor& x) {
  if (view.distribution()) return view.local_part().storage() == x.local_part().storage();
  return view.storage() == x.storage();
}

// Returns the record of a view of a tensor on the tape.
ViewRecord record_of_view(const Tensor& of, ViewKind kind) {
  const Variable& variable = *Variable::of(of);
  if (const ViewRecord* known = variable.view()) {
    ViewRecord record = *known;
    record.kind = made_view(known->kind, kind);
    return record;
  }
  ViewRecord record{.base = Variable::of(of), .geometry = nullptr, .kind = kind};
  if (of.distribution())
    record.distributed_base = of;
  else
    record.geometry = std::make_shared<Geometry>(geometry_of(of));
  return record;
}

void make_views(const OpCall& call, gsl::span<Tensor> outputs) {
  const Tensor& x = call.inputs[0];
  ViewKind kind = call.op.makes_several ? ViewKind::one_of_several : ViewKind::view;
  for (std::size_t i = 0; i < std::size_t(outputs.size()); ++i) {
    Variable* variable = Variable::of(outputs[i]);
    if (!variable || !is_view_of(outputs[i], x)) continue;
    ViewRecord record = record_of_view(x, kind);
    if (x.distribution()) record.steps.push_back({&call.op, call.attributes, i});
    record.changes = changes_of(outputs[i]);
    variable->set_view(std::move(record));
  }
}

// Makes the node that computes the gradient of the base from the view's.
Edge edge_of_view(const ViewRecord& record, const Tensor& view) {
  if (view.distribution()) {
    GradMode recorded(true);
    return Variable::edge_of(record.view_of(record.distributed_base));
  }
  const Geometry& place = *record.geometry;
  Tensor base(view.storage(), view.dtype(), place.shape, place.strides, place.offset);
  base.set_tracking(record.base);
  Attributes attributes = strided_attributes(place, geometry_of(view));
  OpCall call{strided_view_op(), {&base, 1}, attributes};
  return {new OpNode(call, strided_view_op().gradient, {type_of(view)}), 0};
}

// ChangeOfElements is an operation in place on the tape.
class ChangeOfElements final : public InPlaceRecord {
 public:
  explicit ChangeOfElements(boost::intrusive_ptr<OpNode> node) : node_(std::move(node)) {}

  void finish(Tensor& self) override {
    Tensor output = self.detach();
    node_->save_outputs({&output, 1});
    if (!self.distribution())
      StorageLineages::take(self);
    else if (!self.tracking())
      self.set_tracking(new Variable(false));
    Variable& variable = *Variable::of(self);
    if (const ViewRecord* view = variable.view()) {
      variable.base().set_node({new CopySlices(*view, self, std::move(node_)), 0});
      variable.renew(self);
    } else {
      variable.set_node({std::move(node_), 0});
    }
  }

 private:
  boost::intrusive_ptr<OpNode> node_;
};

}  // namespace

void Variable::record(const OpCall& call, gsl::span<Tensor> outputs) const {
  const Gradient* gradient = gradient_of(call.op);
  if (!gradient) return;
  boost::intrusive_ptr<OpNode> node(new OpNode(call, *gradient, types_of(outputs)));
  node->save_outputs(outputs);
  for (std::size_t i = 0; i < std::size_t(outputs.size()); ++i)
    if (is_floating_point(outputs[i].dtype()))
      outputs[i].set_tracking(new Variable(node, std::uint32_t(i)));
  if (call.op.view) make_views(call, outputs);
}

void Variable::track_view(const Tensor& of, Tensor& view) const {
  if (!requires_grad() || grad_enabled() || of.dtype() != view.dtype()) return;
  ViewRecord record = record_of_view(of, ViewKind::unrecorded);
  record.changes = changes_of(view);
  VariablePtr variable = new Variable(false);
  variable->set_view(std::move(record));
  view.set_tracking(variable);
}

std::unique_ptr<InPlaceRecord> Variable::begin_in_place(const OpCall& call,
                                                        const Tensor& self) const {
  const Gradient* gradient = gradient_of(call.op);
  if (!gradient)
    raise(ErrorKind::runtime_error, call.op.name,
          "expected an operation that has a gradient, to change a tensor in place on the tape");
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  if (Edge edge = edge_of(self); edge.node)
    inputs.front().set_tracking(new Variable(std::move(edge.node), edge.output));
  OpCall as_it_was{call.op, inputs, call.attributes, Destination::in_place};
  return std::make_unique<ChangeOfElements>(new OpNode(as_it_was, *gradient, {type_of(self)}));
}

const AttachedViews* Variable::views() const {
  return requires_grad() && grad_enabled() ? &op_views() : nullptr;
}

void Variable::check_in_place(const Op& op, const Tensor& self) const {
  const Variable* variable = of(self);
  const ViewRecord* view = variable ? variable->view() : nullptr;
  if (view)
    check_view(view->kind, {variable->node(), variable->output()}, ViewChange::itself, op.name);
  else if (!variable)
    check_view(self.view_kind(), {}, ViewChange::itself, op.name);
  if (!variable || !variable->requires_grad()) return;
  if (view && variable->base().is_leaf())
    raise(ErrorKind::runtime_error, op.name,
          "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  // A view that has no node yet counts as a leaf, as in PyTorch, although its base requires a
  // gradient.
  if (variable->is_leaf())
    raise(ErrorKind::runtime_error, op.name,
          "a leaf Variable that requires grad is being used in an in-place operation.");
}

void Variable::renew(const Tensor& tensor) {
  if (!view_ || (!node_ && !view_->base->requires_grad())) return;
  std::uint32_t changes = changes_of(tensor);
  if (view_->changes == changes) return;
  check_view(view_->kind, {node_, output_}, ViewChange::elsewhere, "autograd/view");
  set_node(edge_of_view(*view_, tensor));
  view_->changes = changes;
}

}  // namespace simmesh
