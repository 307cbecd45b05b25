#include "fsdp/param/mesh_info.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::fsdp {

namespace {

constexpr std::string_view mesh_info_source = "fsdp/fully_shard";

// Returns several dims joined into one.
DeviceMesh joined(const DeviceMesh& mesh, const std::vector<std::string>& names) {
  DeviceMesh part = mesh[DimNames(names)];
  return names.size() == 1 ? part : part.flatten();
}

void check_names(const DeviceMesh& mesh, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::find(mesh.names().begin(), mesh.names().end(), name) == mesh.names().end())
      raise(ErrorKind::value_error, mesh_info_source, "mesh dim '{}' not found in {}", name,
            join_text(mesh.names(), ", "));
}

MeshInfo replicated_mesh_info_of(const DeviceMesh& mesh) {
  ProcessGroup replicate = process_group(mesh, 0);
  ProcessGroup own = ProcessGroup::of(RankList::of({mesh.get_rank()}), "shard");
  return {mesh, std::make_shared<MeshGroups>(mesh), own, replicate, false};
}

}  // namespace

Placements MeshInfo::placements(const Placement& shard) const {
  if (!is_sharded) return {Replicate()};
  if (replicate_group) return {Replicate(), shard};
  return {shard};
}

MeshInfo mesh_info_of(const DeviceMesh& mesh) {
  if (mesh.ndim() != 1 && mesh.ndim() != 2)
    raise(ErrorKind::value_error, mesh_info_source,
          "fully_shard expects a 1D or 2D DeviceMesh but got {} dims: {}", mesh.ndim(),
          to_string(mesh));
  if (mesh.ndim() == 1) return {mesh, std::make_shared<MeshGroups>(mesh), process_group(mesh, 0)};
  if (mesh.names().empty())
    raise(ErrorKind::assertion_error, mesh_info_source,
          "Please init the 2D mesh for HSDP with mesh_dim_names specified");
  return {mesh, std::make_shared<MeshGroups>(mesh), process_group(mesh, 1), process_group(mesh, 0)};
}

MeshInfo spmd_mesh_info_of(const DeviceMesh& mesh, const DataParallelMeshDims& dims) {
  if (dims.shard.empty() && dims.replicate.empty())
    raise(ErrorKind::value_error, mesh_info_source,
          "At least one of shard or replicate must be set in dp_mesh_dims, got none");
  if (mesh.names().empty())
    raise(ErrorKind::value_error, mesh_info_source,
          "dp_mesh_dims needs a mesh with mesh_dim_names");
  check_names(mesh, dims.shard);
  check_names(mesh, dims.replicate);
  if (dims.shard.empty()) return replicated_mesh_info_of(joined(mesh, dims.replicate));
  DeviceMesh shard = joined(mesh, dims.shard);
  if (dims.replicate.empty()) return mesh_info_of(shard);
  return mesh_info_of(DeviceMesh::concatenate({joined(mesh, dims.replicate), shard}));
}

PostForward post_forward_of(const ReshardAfterForward& reshard, const MeshInfo& mesh) {
  if (!mesh.is_sharded) return {.reshards = false};
  if (reshard.is_default()) return {};
  if (const bool* flag = reshard.flag()) return {.reshards = *flag};
  std::int64_t ranks = *reshard.ranks();
  std::int64_t size = mesh.shard_size();
  if (ranks < 1 || ranks > size || size % ranks != 0)
    raise(ErrorKind::value_error, mesh_info_source,
          "If reshard_after_forward is an int, it should be a factor of the shard mesh size {} and "
          "not {}",
          size, ranks);
  if (ranks == 1) return {.reshards = false};
  if (ranks == size) return {};
  DeviceMesh smaller = DeviceMesh::from_ranks(mesh.mesh.viewer(), mesh.mesh.ranks(),
                                              Shape{mesh.mesh.size() / ranks, ranks});
  return {.mesh = MeshInfo{smaller, std::make_shared<MeshGroups>(smaller),
                           process_group(smaller, 1), process_group(smaller, 0)}};
}

}  // namespace simmesh::fsdp
