#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mesh/mesh_layout.h"
#include "mesh/mesh_viewer.h"
#include "mesh/rank_list.h"

namespace simmesh {

// MeshDescription is the part of a mesh that doesn't depend on its viewer. The ranks of a run share
// the descriptions of meshes that all of them make.
struct MeshDescription {
  MeshLayout layout;
  std::vector<std::string> names;
  Shape shape;
  bool preserve_rank_order = false;
};
using MeshDescriptionPtr = std::shared_ptr<const MeshDescription>;

// MeshRoot is the state that all meshes cut out of one mesh share on one rank. Flattened meshes add
// their names; nothing else changes.
struct MeshRoot {
  MeshViewer viewer;
  RankList ranks;
  std::optional<std::int64_t> position;  // of the viewer among the ranks
  MeshDescriptionPtr description;
  std::vector<std::pair<std::string, Layout>> flattened;  // in the order in which they were made
};

// MeshView is one mesh cut out of a root.
struct MeshView {
  std::shared_ptr<MeshRoot> root;
  MeshDescriptionPtr description;
  std::optional<Dims> coordinate;
  std::int64_t start = 0;  // position of the viewer's slice in the root; 0 without a coordinate
};

}  // namespace simmesh
