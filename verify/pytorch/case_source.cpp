#include "verify/pytorch/case_source.h"

#include "core/check/error.h"
#include "sharding/placement/index_cut.h"
#include "sharding/placement/local_shape.h"

namespace simmesh {

CaseSource::CaseSource(const CaseTensor& tensor, DimSpan mesh_shape, Sharding sharding)
    : shape_(tensor.shape),
      mesh_shape_(mesh_shape.begin(), mesh_shape.end()),
      sharding_(std::move(sharding)) {
  if (sharding_.placements.size() != mesh_shape_.size())
    raise(ErrorKind::value_error, "verify/pytorch/case_source",
          "expected a placement for each of {} mesh dims, got {}", mesh_shape_.size(),
          to_string(PlacementSpan(sharding_.placements)));
  sharding_.placements = normalized(sharding_.placements, std::int64_t(shape_.size()));
  bool is_partial = false;
  for (const Placement& placement : sharding_.placements) is_partial |= placement.is_partial();
  std::int64_t count = logical_count(mesh_shape, sharding_.placements);
  for (std::int64_t i = 0; i < count; ++i) {
    Formula data = tensor.data;
    if (is_partial) data.seed += 1 + std::uint64_t(i);
    logical_.push_back(formula(shape_, data));
  }
}

std::int64_t CaseSource::logical_count(DimSpan mesh_shape, PlacementSpan placements) {
  std::int64_t count = 1;
  for (std::size_t dim = 0; dim < placements.size(); ++dim)
    if (placements[dim].is_partial()) count *= mesh_shape[dim];
  return count;
}

std::size_t CaseSource::logical_index(DimSpan coordinate) const {
  std::int64_t index = 0;
  for (std::size_t dim = 0; dim < coordinate.size(); ++dim)
    if (sharding_.placements[dim].is_partial()) index = index * mesh_shape_[dim] + coordinate[dim];
  return std::size_t(index);
}

Tensor CaseSource::local(DimSpan coordinate) const {
  Tensor piece = logical_[logical_index(coordinate)];
  for (std::int64_t dim = 0; dim < std::int64_t(shape_.size()); ++dim) {
    IndexRuns held, wanted = local_index_runs(shape_, dim, mesh_shape_, coordinate,
                                              sharding_.placements, sharding_.order);
    append_run(held, {0, shape_[std::size_t(dim)]});
    if (!(held == wanted)) piece = cut_indices(piece, {dim, held, wanted});
  }
  return piece.clone();
}

}  // namespace simmesh
