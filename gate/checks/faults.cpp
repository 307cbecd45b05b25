#include <algorithm>

#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/fault_ending.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

constexpr std::int64_t fault_schedules_max = 4;

bool asks_for_faults(const GateFile& gate) { return !gate.faults.empty(); }

// Runs the gate with a fault under some of its schedules, until the fault isn't reported.
void check_fault(const GateFault& fault, CheckedRun& checked) {
  std::uint64_t data_hash = checked.result.data_hash;
  std::int64_t schedules =
      std::min<std::int64_t>(checked.gate.expect.schedules, fault_schedules_max);
  std::string actual;
  for (std::int64_t i = 0; i < schedules; ++i) {
    GateRun run = checked.runner.run({.schedule = checked.runner.schedule_at(std::uint64_t(i)),
                                      .faults = {engine_fault(fault)}});
    actual = ending_of(run.outcome);
    if (is_reported(fault, run.outcome, data_hash)) continue;
    checked.keep_failure(run.outcome);
    return checked.add(describe(fault), false, expected_ending(fault, data_hash), actual);
  }
  checked.add(describe(fault), true, expected_ending(fault, data_hash), actual);
}

void check_faults(CheckedRun& checked) {
  for (const GateFault& fault : checked.gate.faults)
    check_fault(checked.runner.resolved(fault, checked.base), checked);
}

const CheckKind faults_kind(CheckKind::OfTable{
    .table = "faults", .after = "hash", .is_asked = asks_for_faults, .runs = check_faults});

}  // namespace

}  // namespace simmesh
