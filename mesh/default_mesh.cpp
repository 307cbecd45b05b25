#include "mesh/default_mesh.h"

#include "core/check/error.h"
#include "core/engine/ranks/rank.h"

namespace simmesh {

namespace {

// A type of its own, because the run finds slots by their type.
struct InnermostScope {
  const MeshScope* scope = nullptr;
};

}  // namespace

MeshScope::MeshScope(DeviceMesh mesh)
    : mesh_(std::move(mesh)),
      innermost_(&this_rank().state<InnermostScope>().scope),
      outer_(*innermost_) {
  *innermost_ = this;
}

MeshScope::~MeshScope() { *innermost_ = outer_; }

const DeviceMesh& current_mesh() {
  const MeshScope* scope = this_rank().state<InnermostScope>().scope;
  if (!scope)
    raise(ErrorKind::runtime_error, "mesh/default_mesh",
          "No device mesh is currently active: expected a mesh as an argument, or a MeshScope of "
          "rank {} around the call",
          this_rank().id());
  return scope->mesh();
}

}  // namespace simmesh
