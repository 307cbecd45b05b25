#pragma once

#include <cstdint>
#include <functional>

#include "gate/file.h"
#include "gate/records/gate_records.h"
#include "gate/result.h"
#include "gate/runner.h"
#include "gate/trace_folders.h"

namespace simmesh {

// run_gate runs a gate and makes its checks: every rank returns; in a folded world, the ranks that
// run can stand for all; each CheckKind that the gate asks for; and nothing is left alive. A trace
// file gets the run on simulated devices if the gate has them, else the first run on the mesh,
// under the schedule of the options, and so do the folders. With records, they get what a report
// shows beside the result. Raises a BadGate if the model can't run even on one device, and for a
// fault without an operation.
GateResult run_gate(const GateFile& gate, const GateRunOptions& options = {},
                    const TraceFolders& folders = {}, GateRecords* records = nullptr);

// run_on_process_seats calls `work` in as many processes as the gate's mesh has ranks, over which
// the Worlds that run there are spread, and only calls it where world.seats asks for fibers, or the
// program is spread already. The processes end with the work; this one goes on. Raises the error of
// `work`, and ProcessLost if another process has ended. No other thread of the program may run.
void run_on_process_seats(const GateFile& gate, const std::function<void()>& work);

// expect_process_seats raises a ValueError if the gate asks for process seats, for which the
// program may have no other thread, and `jobs` or the words give it some.
void expect_process_seats(const GateFile& gate, const RunWords& words, std::int64_t jobs);

// expect_checks raises a BadGate for a gate that asks for no check.
void expect_checks(const GateFile& gate);

}  // namespace simmesh
