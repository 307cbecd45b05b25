#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/autograd/node.h"
#include "core/autograd/strided.h"

namespace simmesh {

// ViewStep is one view op between a base and a view of it.
struct ViewStep {
  const Op* op;
  Attributes attributes;
  std::size_t output;
};

// ViewRecord says of which tensor a tensor is a view: like PyTorch's DifferentiableViewMeta. The
// base is never a view. Where another view of the base or the base itself is changed in place, the
// view gets a new node, which leads to the base's.
struct ViewRecord {
  TrackingPtr base;
  // The base's place in the storage, shared by all its views.
  std::shared_ptr<Geometry> geometry;
  ViewKind kind = ViewKind::view;
  // The number of changes of the storage when the view's node was made.
  std::uint32_t changes = 0;
  // A distributed view has the base, and the ops that make the view of it, in place of a geometry.
  Tensor distributed_base = {};
  std::vector<ViewStep> steps = {};

  // view_of returns the view of a distributed tensor that is like the base.
  Tensor view_of(const Tensor& base_like) const;
};

// changes_of returns the number of changes in place of the tensor's storage, or of that of the
// rank's part of a distributed tensor.
std::uint32_t changes_of(const Tensor& tensor);

// ViewChange says which tensor is changed in place: the view itself, or its base or another view.
enum class ViewChange { itself, elsewhere };

// check_view raises a RuntimeError where a view of that kind may not take part in a change in
// place. The edge leads to the node that made the view.
void check_view(ViewKind kind, const Edge& made_by, ViewChange change, std::string_view where);

}  // namespace simmesh
