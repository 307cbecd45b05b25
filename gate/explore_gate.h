#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/gate_file.h"
#include "gate/gate_run.h"

namespace simmesh {

// ExploreRequest says how much of the schedules to see.
struct ExploreRequest {
  std::int64_t schedules = 1'000;
  // exhaustive runs one schedule of each class of equivalent ones instead, at most `schedules`.
  bool exhaustive = false;
};

// GateExploration is the result of a gate under many schedules.
struct GateExploration {
  std::string file;
  std::string title;
  std::uint64_t schedules = 0;  // that ran
  std::uint64_t distinct = 0;   // schedule hashes among them
  std::uint64_t data_hash = 0;  // of the first
  std::string certificate;      // why one run speaks for all, where it does
  std::string failure;          // what is wrong under the shortest failing schedule; empty for none
  std::string report;           // of the run that failed, where it didn't end
  std::vector<RankId> choices;  // the shortest failing schedule, whole
  std::uint64_t turns = 0;      // of these, how many have to differ from FIFO

  bool ok() const { return failure.empty(); }
};

// explore_gate runs a gate without its faults under many schedules, until one fails: a rank fails,
// a deadlock, a tensor left alive, another data hash than the first one's or than expect.hash. The
// failing schedule is shrunk.
GateExploration explore_gate(const GateFile& gate, const GateRunOptions& options,
                             const ExploreRequest& request);

// to_text returns it as `simmesh explore` prints it, with the line that reproduces a failure.
// quiet: only the last line, "N schedules, N distinct, data hash H".
struct ExploreTextOptions {
  bool quiet = false;
  std::string reproduce;  // command line
};
std::string to_text(const GateExploration& found, const ExploreTextOptions& options);
std::string to_json(const GateExploration& found, const ExploreTextOptions& options);

}  // namespace simmesh
