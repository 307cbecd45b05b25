#pragma once

#include <array>
#include <string>
#include <vector>

#include "gate/gate_file.h"
#include "gate/gate_run.h"

namespace simmesh {

// ReleaseDifference is something in which a gate's runs under two releases differ.
struct ReleaseDifference {
  std::string what;                                 // "reductions", "loss of step 1"
  std::array<std::string, releases.size()> values;  // under each release
};

// ReleaseComparison is what differs between the runs of a gate under each release. It depends on
// the file and the options only.
struct ReleaseComparison {
  std::string file;
  std::string title;
  std::vector<ReleaseDifference> differences;
  std::vector<std::string> same;  // what was compared and doesn't differ
};

// compare_releases runs a gate under every release, whatever its own, and compares in this order:
// how the run ends, the gate's checks, the plans of redistributions, the events of sharded
// parameters, the collectives and reductions of each rank, peak bytes, the figures of the simulated
// devices, losses, and the bits of all results. Throws what run_gate throws.
ReleaseComparison compare_releases(const GateFile& gate, const GateRunOptions& options = {});

}  // namespace simmesh
