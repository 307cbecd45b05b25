#pragma once

#include <cstdint>

#include "core/release/release.h"
#include "gate/tables/keys.h"

namespace simmesh {

// GateWorld is the table [world]: the kind of World that runs the mesh.
struct GateWorld {
  // The release of PyTorch that is followed.
  Release release = newest_release;
  // Tensors have no elements. Memory, events and times are those of the run with data. See
  // WorldOptions::shapes_only.
  bool shapes_only = false;
  // Only the first and the last rank run, and stand for all. It needs shapes_only. See
  // WorldOptions::fold.
  bool fold = false;
  // Each rank of the mesh is a process of this machine instead of a fiber, in run_gate. No result
  // depends on it.
  bool seats_are_processes = false;

  // ranks_max is the largest number of ranks, and elements_max that of the elements of all
  // parameters and of the batches of all steps.
  std::int64_t ranks_max() const { return shapes_only ? 1'000'000 : 4096; }
  std::int64_t elements_max() const { return std::int64_t{1} << (shapes_only ? 44 : 26); }
};

// read_gate_world reads the table.
GateWorld read_gate_world(GateTable& table);

}  // namespace simmesh
