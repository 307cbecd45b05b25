#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/explore/explored_gate.h"

namespace simmesh {

// GatesRequest bounds an exploration of several gates, such as one that runs overnight.
struct GatesRequest {
  // Its number of schedules is that of each gate. Its state file is one of this exploration.
  ExploreRequest each;
  // Each run has a fault of one of these kinds; without kinds none has.
  std::vector<Fault::Kind> faults = {};
};

// GatesExploration is the result of running several gates under many schedules.
struct GatesExploration {
  struct Gate {
    std::string file;
    std::uint64_t runs = 0;
    std::uint64_t data_hash = 0;
    bool is_certain = false;                         // one run stands for all schedules
    std::uint64_t reported = 0, without_effect = 0;  // of the faults
    std::string failure;                             // of the run that ended the gate
    std::string report;
    std::string reproduce;  // the command that runs the failing schedule again

    // append adds the runs that come next.
    void append(const ExploredGate& next);
  };
  std::vector<Gate> gates;
  bool has_faults = false;
  bool interrupted = false;

  std::uint64_t failed() const;
};

// explore_gates explores each gate as explore_gate does, or run_fault_swarm. The gates take turns,
// so that all of them have had about as many runs at any time, and a gate that fails doesn't end
// the others. With a state file it goes on from what the file has, and writes it after each turn.
// Raises a ValueError for a file that isn't the state of these gates under these options.
GatesExploration explore_gates(const std::vector<GateFile>& gates, const GateRunOptions& options,
                               const GatesRequest& request);

// to_text returns one line for each gate, and a summary as the last one; of a quiet text only that.
std::string to_text(const GatesExploration& found, bool quiet);

// to_json returns the same content as one line of JSON.
std::string to_json(const GatesExploration& found);

}  // namespace simmesh
