#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/options/fault.h"
#include "gate/tables/keys.h"
#include "training/training.h"

namespace simmesh {

// GateFault is one entry of the table [faults]: a kind of fault, its rank, and its time. The time
// is the rank's first operation (a collective, send, receive or wait) from a phase of a step on, or
// an operation given by its number.
struct GateFault {
  Fault::Kind kind = Fault::Kind::kill;
  RankId rank = 0;
  std::int64_t step = 0;
  TrainPhase phase = TrainPhase::backward;
  std::optional<std::uint64_t> number;  // of the operation or allocation, counted from 1
  std::uint64_t bit = 0;
  std::string place;  // FILE:LINE:COLUMN of its table

  // is_at_phase is true if the operation is given by step and phase, and not by its number.
  bool is_at_phase() const;
};

// FaultLimits bounds the ranks and steps that a fault may name.
struct FaultLimits {
  std::int64_t ranks;
  std::int64_t steps;
  // The first rank that has each stage of a pipeline; none without one.
  std::vector<RankId> ranks_of_stages = {};
};

// read_gate_faults reads the table: each kind is a key with a table or a list of tables. A fault
// names its rank, or a stage of a pipeline, whose first rank it is in.
std::vector<GateFault> read_gate_faults(GateTable& table, const FaultLimits& limits);

// to_string returns the key of a kind: "kill", "starve", "abandon", "flip_bit", "fail_allocation",
// "call_another".
std::string_view to_string(Fault::Kind kind);

// describe returns "kill of rank 3 at step 1 backward".
std::string describe(const GateFault& fault);

// at_of returns the text of the key `at`: "step 1 backward" or "operation 5".
std::string at_of(const GateFault& fault);

// engine_fault returns the fault as a World takes it. Kinds at an operation or an allocation need
// its number.
Fault engine_fault(const GateFault& fault);

}  // namespace simmesh
