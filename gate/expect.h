#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gate/tables/parallel.h"

namespace simmesh {

// GateSameAs is another run that must give the same bits: the gate's model and data on another
// mesh, in another form of parallelism.
struct GateSameAs {
  GateLayout layout;
  GateParallel parallel;
  std::string word;   // as GateParallel::form returns them; empty for a table
  std::string place;  // FILE:LINE:COLUMN of the entry

  // name returns "same_as fsdp", or "same_as fsdp on [2, 4]" for a table.
  std::string name() const;
};

// GateEvents are the events of sharding that one rank must go through in one step, as
// fsdp::to_string writes them: "(unshard, block0, forward, sync)". An empty list checks nothing.
struct GateEvents {
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::vector<std::string> list;
};

// GateExpect is the table [expect]. A key at its default checks nothing.
struct GateExpect {
  std::vector<GateSameAs> same_as;
  std::int64_t schedules = 1;
  std::map<std::string, std::int64_t> collectives;  // calls of each rank
  std::int64_t peak_bytes_max = 0;
  std::vector<double> loss;
  double loss_rtol = 0.0;
  std::string hash;
  GateEvents events;
  std::int64_t unused_gathers = -1;  // of each rank
  double exposed_us_max = 0.0;       // of communication, on simulated devices

  bool has_same_as(std::string_view word) const;
};

// ExpectUse is what reading the table needs to know about the rest of the gate.
struct ExpectUse {
  const GateLayout& layout;
  const GateParallel& parallel;
  const nn::ModelNode& model;  // without checkpointing
  std::int64_t steps;
};

// read_other_run reads a table with mesh, names and parallel.
GateSameAs read_other_run(GateTable table, const ExpectUse& use);

// read_gate_expect reads the table. A file of events is looked for in the folder of the gate.
GateExpect read_gate_expect(GateTable& table, const ExpectUse& use);

}  // namespace simmesh
