#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gate/explore/explore_gate.h"

namespace simmesh {

// FaultSwarm is the result of running a gate with a random fault in each run.
struct FaultSwarm {
  // Count has the runs with one kind of fault: those that ended as the fault has to end, and those
  // that computed the bits of a run without a fault, so that the fault had no effect.
  struct Count {
    std::string kind;
    std::uint64_t reported = 0;
    std::uint64_t without_effect = 0;
  };

  std::string file;
  std::string title;
  std::uint64_t runs = 0;
  std::uint64_t data_hash = 0;  // of a run without a fault
  std::vector<Count> counts;
  std::string failure;  // of the first run that ended otherwise, or left a tensor alive
  std::string report;   // of that run
  bool interrupted = false;

  bool ok() const { return failure.empty(); }
};

// fault_kinds reads "all", or a list such as "kill,flip_bit". Raises a ValueError for another kind.
std::vector<Fault::Kind> fault_kinds(std::string_view text);

// run_fault_swarm makes request.schedules runs of a gate without the faults of its own. Each has a
// fault of one of the kinds: its kind, rank and moment are drawn with the schedule, from the seed
// of the options and the number of the run. It ends at the first run that doesn't report its fault,
// unless the fault had no effect. The jobs change no result.
FaultSwarm run_fault_swarm(const GateFile& gate, const GateRunOptions& options,
                           const ExploreRequest& request, const std::vector<Fault::Kind>& kinds);

// to_text returns the result as `simmesh explore --faults` prints it, to_json as one line of JSON.
std::string to_text(const FaultSwarm& found, bool quiet);
std::string to_json(const FaultSwarm& found);

}  // namespace simmesh
