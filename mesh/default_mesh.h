#pragma once

#include "mesh/device_mesh.h"

namespace simmesh {

// MeshScope makes a mesh this rank's default while it lives, as PyTorch's `with mesh:` does: calls
// that take a mesh may then leave it out. Scopes nest; each rank has its own. A scope lives on the
// stack of the rank that made it.
//
//   MeshScope scope(mesh);
//   DTensor x = distribute_tensor(full, {Shard(0), Replicate()});   // on mesh
class MeshScope {
 public:
  // Raises a RuntimeError outside World::run.
  explicit MeshScope(DeviceMesh mesh);
  ~MeshScope();
  MeshScope(const MeshScope&) = delete;
  MeshScope& operator=(const MeshScope&) = delete;

  const DeviceMesh& mesh() const { return mesh_; }

 private:
  DeviceMesh mesh_;
  const MeshScope** innermost_;  // this rank's
  const MeshScope* outer_;
};

// current_mesh returns the mesh of the innermost scope of this rank. Raises a RuntimeError where
// there is none, and outside World::run.
const DeviceMesh& current_mesh();

}  // namespace simmesh
