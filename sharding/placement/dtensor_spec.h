#pragma once

#include <memory>
#include <string>

#include "core/tensor/tensor.h"
#include "sharding/placement/mesh_groups.h"
#include "sharding/placement/shard_order.h"

namespace simmesh {

// DTensorSpec describes a distributed tensor: shape, dtype, mesh, one placement a mesh dim, and the
// order in which shards of one tensor dim were applied.
struct DTensorSpec {
  std::shared_ptr<MeshGroups> groups;
  Sharding sharding;
  Shape shape;
  DType dtype = DType::float32;

  const DeviceMesh& mesh() const { return groups->mesh(); }
  const Placements& placements() const { return sharding.placements; }

  // local_shape returns the shape of this rank's piece; [0] outside the mesh.
  Shape local_shape() const;
};

// hash_of returns a number that is equal for specs of equal shape, dtype and placements.
std::size_t hash_of(const DTensorSpec& spec);

// to_string returns "float32[8, 16](S(0),R) on DeviceMesh(...)".
std::string to_string(const DTensorSpec& spec);

}  // namespace simmesh
