#include "fsdp/param/partial_sums.h"

#include <algorithm>
#include <utility>

#include "core/tensor/flat.h"

namespace simmesh::fsdp {

namespace {

std::vector<Shape> flat_shapes(const std::vector<const FSDPParam*>& params) {
  std::vector<Shape> shapes;
  for (const FSDPParam* param : params) shapes.push_back({param->padded_numel()});
  return shapes;
}

std::vector<const FSDPParam*> params_of(const std::vector<ParamGrad>& gradients) {
  std::vector<const FSDPParam*> params;
  for (const ParamGrad& entry : gradients) params.push_back(entry.param);
  return params;
}

}  // namespace

bool PartialSums::has(const FSDPParam& param) const {
  return std::find(params_.begin(), params_.end(), &param) != params_.end();
}

Tensor PartialSums::take_for(const std::vector<ParamGrad>& gradients) {
  std::vector<const FSDPParam*> wanted = params_of(gradients);
  std::vector<const FSDPParam*> before = std::exchange(params_, {});
  Tensor kept = std::exchange(flat_, Tensor());
  if (wanted == before) return kept;
  std::vector<Shape> shapes = flat_shapes(wanted), old_shapes = flat_shapes(before);
  std::int64_t numel = 0;
  for (const Shape& shape : shapes) numel += shape[0];
  Tensor flat = zeros({numel}, kept.dtype());
  std::vector<Tensor> parts = flat_parts(flat, shapes), old_parts = flat_parts(kept, old_shapes);
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto at = std::find(wanted.begin(), wanted.end(), before[i]);
    SIMMESH_CHECK(at != wanted.end(), "a partial sum of a parameter that takes no part");
    copy_(parts[std::size_t(at - wanted.begin())], old_parts[i]);
  }
  return flat;
}

void PartialSums::keep(Tensor flat, const std::vector<ParamGrad>& gradients) {
  flat_ = std::move(flat);
  params_ = params_of(gradients);
}

void PartialSums::clear() {
  flat_ = Tensor();
  params_.clear();
}

}  // namespace simmesh::fsdp
