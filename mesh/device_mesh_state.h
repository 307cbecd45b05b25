#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mesh/device_mesh.h"

namespace simmesh {

// MeshDescription is what of a mesh doesn't depend on who looks at it. The ranks of a run share
// those of the meshes that all of them make.
struct MeshDescription {
  MeshLayout layout;
  std::vector<std::string> names;
  Shape shape;
};
using MeshDescriptionPtr = std::shared_ptr<const MeshDescription>;

// Root is what all meshes cut out of one mesh share on one rank. The names of flattened meshes are
// added as they are made; nothing else changes.
struct DeviceMesh::Root {
  MeshViewer viewer;
  RankList ranks;
  std::optional<std::int64_t> position;  // of the viewer among the ranks
  MeshDescriptionPtr description;
  std::vector<std::pair<std::string, Layout>> flattened;  // in the order in which they were made
};

// View is one mesh cut out of a root.
struct DeviceMesh::View {
  std::shared_ptr<Root> root;
  MeshDescriptionPtr description;
  std::optional<Dims> coordinate;
  std::int64_t start = 0;  // position of the viewer's slice in the root; 0 without a coordinate
};

}  // namespace simmesh
