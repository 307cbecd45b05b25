#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "mesh/device_mesh.h"

namespace simmesh::python {

// MeshDimWord is how Python names a dim of a mesh: by index or by name.
using MeshDimWord = std::variant<std::int64_t, std::string>;

inline MeshDim mesh_dim_of(const MeshDimWord& dim) {
  const auto* index = std::get_if<std::int64_t>(&dim);
  return index ? MeshDim(*index) : MeshDim(std::get<std::string>(dim));
}

}  // namespace simmesh::python
