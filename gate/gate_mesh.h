#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"
#include "gate/gate_keys.h"

namespace simmesh {

// GateLayout is a mesh with the names of its dims.
struct GateLayout {
  Shape shape = {1};
  std::vector<std::string> names = {"dp"};

  // index_of returns the index of a dim that is there.
  std::size_t index_of(const std::string& name) const;
};

// read_gate_layout reads sizes under a key, and "names" of as many dims: at most 4,096 ranks. Names
// are "dp", or "dim0", "dim1", ... where they are left out.
GateLayout read_gate_layout(GateTable& table, std::string_view sizes_key);

}  // namespace simmesh
