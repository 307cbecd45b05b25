#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"
#include "gate/tables/keys.h"

namespace simmesh {

// GateLayout is a mesh with the names of its dims.
struct GateLayout {
  Shape shape = {1};
  std::vector<std::string> names = {"dp"};

  // index_of returns the index of a dim, which must exist. stride_of returns the distance of the
  // numbers of two ranks that are neighbours along it.
  std::size_t index_of(const std::string& name) const;
  std::int64_t stride_of(const std::string& name) const;
};

// read_gate_layout reads the sizes under a key, for at most ranks_max ranks, and the key "names"
// with one name per size. Without it the names are "dp" for one dim, and "dim0", "dim1", ... for
// several.
GateLayout read_gate_layout(GateTable& table, std::string_view sizes_key, std::int64_t ranks_max);

}  // namespace simmesh
