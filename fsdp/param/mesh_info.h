#pragma once

#include <memory>
#include <optional>

#include "collectives/process_group.h"
#include "fsdp/param/options.h"
#include "sharding/placement/mesh_groups.h"

namespace simmesh::fsdp {

// MeshInfo is a mesh over which parameters are sharded along the last dim and, if it has two dims,
// replicated along the first. If only replication was asked for, its one dim replicates, and each
// rank is a shard group of its own.
struct MeshInfo {
  DeviceMesh mesh;
  std::shared_ptr<MeshGroups> groups;
  ProcessGroup shard_group;
  std::optional<ProcessGroup> replicate_group = {};
  bool is_sharded = true;

  std::int64_t shard_size() const { return shard_group.size(); }
  std::int64_t shard_rank() const { return shard_group.rank(); }
  // data_parallel_size counts the ranks over which gradients are averaged.
  std::int64_t data_parallel_size() const {
    return shard_size() * (replicate_group ? replicate_group->size() : 1);
  }
  // placements returns the placements of a tensor that is sharded over this mesh.
  Placements placements(const Placement& shard) const;
};

// mesh_info_of raises a ValueError for a mesh that isn't 1-D or 2-D, an AssertionError for a 2-D
// one without names.
MeshInfo mesh_info_of(const DeviceMesh& mesh);

// spmd_mesh_info_of uses the named dims of a mesh as the data-parallel ones; without a dim for
// shard, parameters are replicated. Raises a ValueError where none is named, a name isn't known or
// the mesh has no names.
MeshInfo spmd_mesh_info_of(const DeviceMesh& mesh, const DataParallelMeshDims& dims);

// PostForward is where parameters go after forward: over a smaller mesh, over the whole mesh
// (`reshards` alone), or nowhere.
struct PostForward {
  bool reshards = true;
  std::optional<MeshInfo> mesh = {};
};

// post_forward_of raises a ValueError for a number that isn't a factor of the shard group's size.
// Parameters that are only replicated don't change.
PostForward post_forward_of(const ReshardAfterForward& reshard, const MeshInfo& mesh);

}  // namespace simmesh::fsdp
