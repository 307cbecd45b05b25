#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/tensor/vector_of.h"
#include "mesh/default_mesh.h"
#include "sharding/api/dtensor_gradient.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/placement/index_cut.h"
#include "sharding/placement/local_shape.h"

namespace simmesh {

namespace {

Tensor nothing(DType dtype) { return empty({0}, dtype); }

Shape inferred_shape(const Tensor& local, const DeviceMesh& mesh, const Placements& placements) {
  Shape shape = local.shape();
  for (std::size_t i = 0; i < placements.size(); ++i)
    if (placements[i].splits()) shape[std::size_t(placements[i].dim())] *= mesh.shape()[i];
  return shape;
}

void check_local_shape(const DTensorSpec& spec, const Tensor& local) {
  Shape expected = spec.local_shape();
  if (local.shape() == expected) return;
  raise(ErrorKind::value_error, "sharding/from_local",
        "rank {}: expected a piece of shape {} for {}, got {}", spec.mesh().get_rank(),
        to_string(DimSpan(expected)), to_string(spec), to_string(DimSpan(local.shape())));
}

// With uneven pieces the ranks infer different shapes. Along each mesh dim all must have inferred
// the same shape.
void check_inferred_shape(const DTensorSpec& spec, const CallSite& site) {
  auto dims = std::int64_t(spec.shape.size());
  Tensor mine = vector_of<std::int64_t>(spec.shape).view(Dims{1, dims});
  bool has_values = mine.has_elements();
  for (std::int64_t dim = 0; dim < spec.mesh().ndim(); ++dim) {
    const ProcessGroup& group = spec.groups->group(Dims{dim});
    Tensor all = all_gather(mine, {.dim = 0}, group, site);
    for (std::int64_t member = 0; has_values && member < group.size(); ++member) {
      Tensor theirs = all.narrow({.dim = 0, .start = member, .length = 1});
      if (same_bits(theirs, mine)) continue;
      raise(ErrorKind::value_error, "sharding/from_local",
            "uneven pieces need the global shape: rank {} infers {}, rank {} infers {}",
            spec.mesh().get_rank(), to_string(mine), group.members()[member], to_string(theirs));
    }
  }
}

// As in PyTorch, a DTensor can be distributed once more only where it already lies so.
DTensor distributed_already(const DTensor& tensor, const DeviceMesh& mesh,
                            const Placements& placements) {
  if (!(tensor.mesh() == mesh))
    raise(ErrorKind::value_error, "sharding/distribute_tensor",
          "expected a plain tensor, or a DTensor of this mesh, got one of another mesh");
  if (tensor.placements() != placements)
    raise(ErrorKind::value_error, "sharding/distribute_tensor",
          "expected a plain tensor, or a DTensor with the placements {}, got {}; use redistribute",
          to_string(PlacementSpan(placements)), to_string(PlacementSpan(tensor.placements())));
  return tensor;
}

}  // namespace

DTensor from_local(const Tensor& local, const DeviceMesh& mesh, const Placements& placements,
                   const FromLocalOptions& options, CallSite site) {
  if (local.distribution())
    raise(ErrorKind::runtime_error, "sharding/from_local",
          "expected the rank's own piece as a plain tensor, got a DTensor");
  Placements list = normalized(placements, local.dim());
  Shape shape = options.shape ? *options.shape : inferred_shape(local, mesh, list);
  DTensorSpec spec{.groups = std::make_shared<MeshGroups>(mesh),
                   .sharding = {list, options.order},
                   .shape = shape,
                   .dtype = local.dtype()};
  check_sharding(list, shape, mesh.shape());
  if (!spec.groups->is_member()) return DTensor(std::move(spec), nothing(local.dtype()));
  check_local_shape(spec, local);
  if (!options.shape && options.check_shapes) check_inferred_shape(spec, site);
  DTensor result(std::move(spec), local.detach(), options.mask);
  return local.requires_grad() ? recorded_from_local(local, result, options) : result;
}

DTensor from_local(const Tensor& local, const Placements& placements,
                   const FromLocalOptions& options, CallSite site) {
  return from_local(local, current_mesh(), placements, options, site);
}

DTensor distribute_tensor(const Tensor& full, const DeviceMesh& mesh, const Placements& placements,
                          const DistributeOptions& options, CallSite site) {
  Placements list = normalized(placements, full.dim());
  if (full.distribution()) return distributed_already(DTensor::of(full), mesh, list);
  for (const Placement& placement : list)
    if (placement.is_partial())
      raise(ErrorKind::value_error, "sharding/distribute_tensor",
            "expected no Partial placements, got {}", to_string(PlacementSpan(list)));
  DTensorSpec spec{.groups = std::make_shared<MeshGroups>(mesh),
                   .sharding = {list, options.order},
                   .shape = full.shape(),
                   .dtype = full.dtype()};
  check_sharding(list, full.shape(), mesh.shape());
  if (!spec.groups->is_member()) return DTensor(std::move(spec), nothing(full.dtype()));
  Tensor piece = full.detach();
  if (options.from_first_rank && !full.is_meta())
    for (std::int64_t dim = 0; dim < mesh.ndim(); ++dim)
      if (mesh.size(dim) > 1) piece = broadcast(piece, 0, spec.groups->group(Dims{dim}), site);
  for (std::int64_t dim = 0; dim < full.dim(); ++dim) {
    IndexRuns held, wanted = local_index_runs(full.shape(), dim, mesh.shape(),
                                              spec.groups->coordinate(), list, options.order);
    append_run(held, {0, full.size(dim)});
    if (!(held == wanted)) piece = cut_indices(piece, {dim, held, wanted});
  }
  DTensor result(std::move(spec), piece.clone());
  if (full.requires_grad()) result.set_requires_grad();
  return result;
}

DTensor distribute_tensor(const Tensor& full, const Placements& placements,
                          const DistributeOptions& options, CallSite site) {
  return distribute_tensor(full, current_mesh(), placements, options, site);
}

}  // namespace simmesh
