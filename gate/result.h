#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "training/gather_tally.h"
#include "zero/engine/memory_use.h"

namespace simmesh {

// GateCheck is one thing that must hold for a gate.
struct GateCheck {
  std::string name;
  bool passed = false;
  std::string expected;
  std::string actual;
};

// DeviceFigures are figures of the simulated devices in a run, each for the rank where it is
// largest.
struct DeviceFigures {
  double makespan_us = 0;
  double exposed_communication_us = 0;
  std::int64_t reserved_bytes = 0;
};

// GateResult is the result of a gate. It depends on the file and the options only.
struct GateResult {
  std::string file;
  std::string title;
  std::vector<GateCheck> checks;
  std::uint64_t data_hash = 0;
  std::uint64_t schedule_hash = 0;
  // The number of ranks that were run, in a world of shapes only. data_hash covers shapes there,
  // and there are no losses.
  std::optional<std::int64_t> shapes_of_ranks;
  std::int64_t peak_bytes = 0;  // of the rank that held the most
  // Bytes that the process used for buffers. Absent in a world of shapes only, and with several
  // threads, whose timing would change it.
  std::optional<std::int64_t> physical_peak_bytes;
  std::map<std::string, std::int64_t> collectives;  // calls of each rank
  // The calls are those of rank 0: those of ranks with other stages of a pipeline differ.
  bool collectives_of_first = false;
  // For a gate with sharded parameters: the gathers of the rank with the most unused ones.
  std::optional<GatherTally> gathers;
  // For a gate with ZeRO: the bytes that the engine of the first rank held, by moment.
  std::vector<std::pair<std::string, zero::MemoryUse>> zero_memory;
  // For a gate with ZeRO stage 3: a picture of the last iteration of the first rank, as SVG.
  std::string zero_schedule;
  std::optional<DeviceFigures> device;  // if the gate has a device
  std::vector<double> losses;
  std::string failure;    // report of the first run that failed; empty if none did
  std::string reproduce;  // command line that reproduces a failure

  std::int64_t passed() const {
    return std::count_if(checks.begin(), checks.end(),
                         [](const GateCheck& check) { return check.passed; });
  }
  std::int64_t failed() const { return std::int64_t(checks.size()) - passed(); }
};

}  // namespace simmesh
