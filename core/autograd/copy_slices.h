#pragma once

#include "core/autograd/node.h"
#include "core/autograd/view_record.h"

namespace simmesh {

// CopySlices is the base's node after a view of it was changed in place: it passes the gradient of
// the view's elements through the node of the change, and that of the other elements on as it is.
// Like PyTorch's node of this name.
class CopySlices final : public Node {
 public:
  // change is the node of a call that has changed the view in place; its first input is the view.
  CopySlices(const ViewRecord& record, const Tensor& view, NodePtr change);

  std::string name() const override { return "CopySlices"; }
  Gradients apply(Gradients gradients) override;
  // A plain base may have been known by its storage alone when the view was changed.
  bool takes_any_shape() const override { return true; }
  void release() override { change_->release(); }

 private:
  Tensor part_of(const Tensor& gradient) const;
  Tensor with_part(const Tensor& gradient, const Tensor& part) const;

  NodePtr change_;
  Geometry base_, view_;
  std::vector<ViewStep> steps_;  // for a distributed view
  bool is_distributed_;
};

}  // namespace simmesh
