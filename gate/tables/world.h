#pragma once

#include <cstdint>

#include "core/release/release.h"
#include "gate/tables/keys.h"

namespace simmesh {

// GateWorld is the table [world]: what kind of World runs the mesh.
struct GateWorld {
  // The PyTorch that is followed.
  Release release = newest_release;
  // No tensor has elements; memory, events and times are those of the run with data. See
  // WorldOptions::shapes_only.
  bool shapes_only = false;
  // Only the first and the last rank run and stand for all; only of shapes. See WorldOptions::fold.
  bool fold = false;

  // ranks_max is the largest number of ranks, and elements_max that of the elements of all
  // parameters and of the batches of all steps.
  std::int64_t ranks_max() const { return shapes_only ? 1'000'000 : 4096; }
  std::int64_t elements_max() const { return std::int64_t{1} << (shapes_only ? 44 : 26); }
};

// read_gate_world reads the table.
GateWorld read_gate_world(GateTable& table);

}  // namespace simmesh
