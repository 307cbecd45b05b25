#pragma once

#include <string>
#include <utility>
#include <vector>

#include <simmesh/mesh/device_mesh.h>

namespace simmesh {

// Root is what all meshes cut out of one mesh share on one rank. The names of flattened meshes are
// added as they are made; nothing else changes.
struct DeviceMesh::Root {
  MeshViewer viewer;
  RankList ranks;
  std::optional<std::int64_t> position;  // of the viewer among the ranks
  MeshLayout layout;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, Layout>> flattened;  // in the order in which they were made
};

// View is one mesh cut out of a root.
struct DeviceMesh::View {
  std::shared_ptr<Root> root;
  MeshLayout layout;
  std::vector<std::string> names;
  Shape shape;
  std::optional<Dims> coordinate;
  std::int64_t start = 0;  // position of the viewer's slice in the root; 0 without a coordinate
};

}  // namespace simmesh
