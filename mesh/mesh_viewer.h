#pragma once

#include <cstdint>

namespace simmesh {

// MeshViewer is the rank that looks at a mesh, and the size of its world.
struct MeshViewer {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

}  // namespace simmesh
