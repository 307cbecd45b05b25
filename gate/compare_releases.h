#pragma once

#include "core/release/release_comparison.h"
#include "gate/file.h"
#include "gate/runner.h"

namespace simmesh {

// compare_releases runs a gate under every release, whatever its own. It compares in this order:
// the ending of the run, the gate's checks, the plans of redistributions, the events of sharded
// parameters, the collectives and reductions of each rank, peak bytes, the figures of the simulated
// devices, losses, and the bits of all results. Raises what run_gate raises.
ReleaseComparison compare_releases(const GateFile& gate, const GateRunOptions& options = {});

}  // namespace simmesh
