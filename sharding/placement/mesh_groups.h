#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/process_group.h"
#include "mesh/device_mesh.h"

namespace simmesh {

// MeshGroups is a mesh with the process groups of one rank along its dims, each found once and then
// kept.
class MeshGroups {
 public:
  explicit MeshGroups(DeviceMesh mesh);

  const DeviceMesh& mesh() const { return mesh_; }
  bool is_member() const { return mesh_.get_coordinate().has_value(); }
  // coordinate is empty outside the mesh.
  Dims coordinate() const { return mesh_.get_coordinate().value_or(Dims()); }

  // group returns the group along one mesh dim, or over the flattened mesh of several.
  const ProcessGroup& group(DimSpan mesh_dims);

  // whole returns the group of all ranks of the mesh, in mesh order.
  const ProcessGroup& whole();

  // flattened lists the mesh dims, two or more, for which a flattened mesh was made.
  std::vector<Dims> flattened() const;

 private:
  struct Merged {
    Dims mesh_dims;
    ProcessGroup group;
  };

  DeviceMesh mesh_;
  std::vector<std::optional<ProcessGroup>> of_dim_;
  std::vector<Merged> merged_;
  std::optional<ProcessGroup> whole_;
};

}  // namespace simmesh
