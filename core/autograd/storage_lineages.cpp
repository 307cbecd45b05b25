#include "core/autograd/storage_lineages.h"

#include <algorithm>

namespace simmesh {

namespace {

std::int64_t elements_of_storage(const Tensor& tensor) {
  return std::int64_t(tensor.storage()->bytes() / bytes_per_element(tensor.dtype()));
}

// True if the tensor is its whole storage in row-major order.
bool is_whole(const Tensor& tensor) {
  return tensor.is_contiguous() && tensor.storage_offset() == 0 &&
         tensor.numel() == elements_of_storage(tensor);
}

}  // namespace

TrackingPtr StorageLineages::find(const Tensor& tensor) {
  for (Base& base : bases_)
    if (base.lineage == tensor.lineage()) return variable_in(base, tensor);
  return nullptr;
}

TrackingPtr StorageLineages::variable_in(Base& base, const Tensor& tensor) {
  if (tensor.view_kind() == ViewKind::none) {
    if (base.is_guessed && is_whole(tensor)) {
      *base.geometry = geometry_of(tensor);
      base.is_guessed = false;
    }
    if (geometry_of(tensor) == *base.geometry) return base.variable;
  }
  ViewKind kind = std::max(tensor.view_kind(), ViewKind::view);
  for (auto& [geometry, view] : base.views)
    if (view->view_kind() == kind && geometry == geometry_of(tensor)) return view;
  // The view was made before the base came to the tape, so its node is to be made.
  VariablePtr view = new Variable(false);
  view->set_view({.base = base.variable,
                  .geometry = base.geometry,
                  .kind = kind,
                  .changes = tensor.storage()->changes() - 1});
  base.views.emplace_back(geometry_of(tensor), view);
  return view;
}

StorageLineages::Base& StorageLineages::add(const Tensor& tensor) {
  bool is_base = tensor.view_kind() == ViewKind::none;
  Geometry geometry = is_base || is_whole(tensor) ? geometry_of(tensor)
                                                  : Geometry{{elements_of_storage(tensor)}, {1}, 0};
  Variable* known = is_base ? Variable::of(tensor) : nullptr;
  bases_.push_back({tensor.lineage(), known ? known : new Variable(false),
                    std::make_shared<Geometry>(std::move(geometry)), !is_base});
  return bases_.back();
}

void StorageLineages::take(Tensor& tensor) {
  if (Variable* known = Variable::of(tensor))
    if (!known->is_leaf() || known->view()) return;
  if (!tensor.storage()->lineages()) tensor.storage()->set_lineages(new StorageLineages);
  auto& all = static_cast<StorageLineages&>(*tensor.storage()->lineages());
  if (all.find(tensor)) return;
  Base& base = all.add(tensor);
  if (!Variable::of(tensor)) tensor.set_tracking(all.variable_in(base, tensor));
}

}  // namespace simmesh
