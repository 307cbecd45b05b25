#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gate/gate_file.h"
#include "gate/gate_runner.h"
#include "gate/trace_folders.h"

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
  // Of a world of shapes only, in which data_hash covers shapes and there are no losses: the number
  // of ranks that were run.
  std::optional<std::int64_t> shapes_of_ranks;
  std::int64_t peak_bytes = 0;  // of the rank that held the most
  // Bytes that the process used for buffers; absent in a world of shapes only, and with several
  // threads, because it then depends on their timing.
  std::optional<std::int64_t> physical_peak_bytes;
  std::map<std::string, std::int64_t> collectives;  // calls of each rank
  // For a gate with sharded parameters: the gathers of the rank with the most unused ones.
  std::optional<GatherTally> gathers;
  // For a gate with ZeRO: what the engine of the first rank held, by moment.
  std::vector<std::pair<std::string, zero::MemoryUse>> zero_memory;
  // For a gate with ZeRO stage 3: a picture of the last iteration of the first rank, as SVG.
  std::string zero_schedule;
  std::optional<DeviceFigures> device;  // if the gate has a device
  std::vector<double> losses;
  std::string failure;    // report of the first run that failed; empty if none did
  std::string reproduce;  // command line that reproduces a failure

  std::int64_t passed() const;
  std::int64_t failed() const { return std::int64_t(checks.size()) - passed(); }
};

// run_gate runs a gate and makes all its checks: that every rank returns, in a folded world that
// the ranks that run can stand for all, same_as, schedules, collectives, events, unused_gathers,
// the device, peak_bytes_max, loss, hash, each fault, and that nothing is left alive. A trace file
// gets the run on simulated devices if the gate has them, else the first run on the mesh; both
// under the schedule of the options. The folders get the execution traces of the same run. Raises a
// BadGate if the model can't run even on one device, and for a fault without an operation.
GateResult run_gate(const GateFile& gate, const GateRunOptions& options = {},
                    const TraceFolders& folders = {});

// expect_checks raises a BadGate for a gate that asks for no check: it has no key of [expect] that
// checks something, no fault and no device.
void expect_checks(const GateFile& gate);

}  // namespace simmesh
