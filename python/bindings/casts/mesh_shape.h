#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/variant.h>
#include <variant>

#include "mesh/device_mesh.h"
#include "python/bindings/casts/dims_caster.h"

namespace simmesh::python {

// MeshShape is how Python names the shape of a mesh: by its sizes, or by a mesh that has it.
using MeshShape = std::variant<DeviceMesh, Dims>;

inline Dims shape_of(const MeshShape& mesh) {
  const auto* sizes = std::get_if<Dims>(&mesh);
  return sizes ? *sizes : std::get<DeviceMesh>(mesh).shape();
}

}  // namespace simmesh::python
