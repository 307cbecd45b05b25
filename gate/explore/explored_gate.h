#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/json_value.h"
#include "gate/explore/fault_swarm.h"

namespace simmesh {

// ExploredGate is what some neighbouring runs of a gate found, of an exploration without faults or
// with them.
struct ExploredGate {
  bool has_faults = false;
  GateExploration seen = {};   // without faults
  FaultSwarm swarm = {};       // with faults
  std::string reproduce = {};  // the command that runs the failing schedule again

  std::uint64_t runs() const { return has_faults ? swarm.runs : seen.schedules; }
  std::uint64_t data_hash() const { return has_faults ? swarm.data_hash : seen.data_hash; }
  const std::string& failure() const { return has_faults ? swarm.failure : seen.failure; }
  const std::string& report() const { return has_faults ? swarm.report : seen.report; }
  bool is_certain() const { return !seen.certificate.empty(); }
  bool interrupted() const { return has_faults ? swarm.interrupted : seen.interrupted; }

  // is_over is true if no run comes after these: one failed, or one stands for all.
  bool is_over() const { return is_certain() || !failure().empty(); }

  // without_runs returns the end of these runs as runs of which there are none.
  ExploredGate without_runs() const;

  // append adds the runs that come next.
  void append(const ExploredGate& next);
};

// explore_runs makes the runs of a request, without faults or each with one of some kinds.
ExploredGate explore_runs(const GateFile& gate, const GateRunOptions& options,
                          const ExploreRequest& request, const std::vector<Fault::Kind>& kinds);

// to_json returns the runs so that explored_gate_from reads them, which raises a ValueError for
// anything else.
JsonValue to_json(const ExploredGate& found);
ExploredGate explored_gate_from(const JsonValue& value);

}  // namespace simmesh
