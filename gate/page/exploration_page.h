#pragma once

#include <string>

#include "core/page/report_page.h"
#include "gate/explore/explore_gate.h"
#include "gate/explore/explore_gates.h"
#include "gate/explore/fault_swarm.h"

namespace simmesh {

// exploration_page returns the report of `simmesh explore` about one gate. It runs the first
// schedule again, and the shortest failing one if there is one: the page says where they part, and
// shows the timeline of the failing run, or else of the first. Commands are the line that makes the
// report again, and the one that reproduces a failure.
struct ExplorationCommands {
  std::string report;
  std::string reproduce;
};
PageReport exploration_page(const GateFile& gate, const GateRunOptions& options,
                            const GateExploration& found, const ExplorationCommands& commands);

// The same of several gates, and of runs with faults, without further runs.
PageReport exploration_page(const GatesExploration& found, const std::string& command);
PageReport exploration_page(const FaultSwarm& found, const std::string& command);

}  // namespace simmesh
