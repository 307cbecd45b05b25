#include "core/autograd/copy_slices.h"

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/memory_overlap.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

Tensor view_by(const std::vector<ViewStep>& steps, const Tensor& base_like) {
  ViewRecord record;
  record.steps = steps;
  return record.view_of(base_like);
}

// Returns zeros like the base with the elements at the places of the view.
Tensor spread(const std::vector<ViewStep>& steps, const Tensor& base_like, const Tensor& elements,
              bool records) {
  Tensor base = zeros_like(base_like.detach()), view;
  set_requires_grad(base);
  {
    GradMode recorded(true);
    view = view_by(steps, base);
  }
  return grad({view}, {base}, {.gradients = {elements}, .create_graph = records}).front();
}

}  // namespace

CopySlices::CopySlices(const ViewRecord& record, const Tensor& view, NodePtr change)
    : Node(next_sequence()),
      change_(std::move(change)),
      steps_(record.steps),
      is_distributed_(view.distribution() != nullptr) {
  if (is_distributed_) {
    add_output(type_of(record.distributed_base));
    add_edge(Variable::edge_of(record.distributed_base));
  } else {
    base_ = *record.geometry;
    view_ = geometry_of(view);
    Tensor base(view.storage(), view.dtype(), base_.shape, base_.strides, base_.offset);
    base.set_tracking(record.base);
    add_output(type_of(base));
    add_edge(Variable::edge_of(base));
  }
  for (std::size_t i = 1; i < change_->edges().size(); ++i) add_edge(change_->edges()[i]);
}

Tensor CopySlices::part_of(const Tensor& gradient) const {
  return is_distributed_ ? view_by(steps_, gradient) : gather_strided(gradient, base_, view_);
}

Tensor CopySlices::with_part(const Tensor& gradient, const Tensor& part) const {
  if (!is_distributed_) {
    check_repeated("autograd/backward", view_.shape, view_.strides);
    return put_strided(gradient, part, base_, view_);
  }
  Tensor is_part = ne(spread(steps_, gradient, ones_like(part.detach()), false), 0);
  return where(is_part, spread(steps_, gradient, part, grad_enabled()), gradient);
}

Gradients CopySlices::apply(Gradients gradients) {
  Gradients results(edges().size());
  if (!gradients.front().is_defined()) return results;
  const Tensor& gradient = gradients.front();
  Tensor part = part_of(gradient);
  Gradients changed = change_->apply({part});
  for (std::size_t i = 1; i < results.size(); ++i) results[i] = changed[i];
  if (edges().front().node)
    results.front() =
        with_part(gradient, changed.front().is_defined() ? changed.front() : zeros_like(part));
  return results;
}

}  // namespace simmesh
