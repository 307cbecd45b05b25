#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/file.h"
#include "gate/records/gate_records.h"
#include "gate/result.h"
#include "gate/runner.h"

namespace simmesh {

// OtherRun is a run of same_as.
struct OtherRun {
  const GateSameAs& same_as;
  GateRun run;
  std::size_t record;  // the index of its record among those that the base run is compared with
};

// CheckedRun has all that checks need: the gate, its base run, and the runs of same_as. Checks add
// their lines to the result.
struct CheckedRun {
  const GateFile& gate;
  const GateRunner& runner;
  GateResult& result;
  GateRecords* records = nullptr;  // null if no report is asked for
  std::vector<OtherRun> others = {};
  GateRun base = {};

  // recorded_ranks returns the number of ranks that run.
  std::size_t recorded_ranks() const;
  // add adds the line of one check.
  void add(std::string name, bool passed, std::string expected, std::string actual);
  // keep_failure puts the report of a run into the result, if the run failed.
  void keep_failure(const Outcome& outcome);
};

// ending_of returns the ending of a run in one line: "data hash 0123456789abcdef", or its failure.
std::string ending_of(const Outcome& outcome);

}  // namespace simmesh
