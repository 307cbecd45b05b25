#include <algorithm>
#include <fmt/format.h>

#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

constexpr std::int64_t fault_schedules_max = 4;

bool asks_for_faults(const GateFile& gate) { return !gate.faults.empty(); }

std::string expected_of(const GateFault& fault, std::uint64_t data_hash) {
  switch (fault.kind) {
    case Fault::Kind::kill:
    case Fault::Kind::fail_allocation:
      return fmt::format("the injected failure of rank {}", fault.rank);
    case Fault::Kind::abandon: return "a deadlock";
    case Fault::Kind::call_another: return "a mismatch";
    case Fault::Kind::flip_bit: return "another data hash";
    case Fault::Kind::starve: break;
  }
  return fmt::format("data hash {}", hash_text(data_hash));
}

bool is_reported(const GateFault& fault, const Outcome& outcome, std::uint64_t data_hash) {
  if (fault.kind == Fault::Kind::starve) return outcome.ok() && outcome.data_hash == data_hash;
  if (outcome.ok()) return fault.kind == Fault::Kind::flip_bit && outcome.data_hash != data_hash;
  const Failure& failure = *outcome.failure;
  if (fault.kind == Fault::Kind::abandon) return failure.kind == Failure::Kind::deadlock;
  if (failure.kind != Failure::Kind::error) return false;
  bool is_own = fault.kind == Fault::Kind::kill || fault.kind == Fault::Kind::fail_allocation;
  return !is_own ||
         (failure.rank == fault.rank && failure.message.find("injected") != std::string::npos);
}

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
    return checked.add(describe(fault), false, expected_of(fault, data_hash), actual);
  }
  checked.add(describe(fault), true, expected_of(fault, data_hash), actual);
}

void check_faults(CheckedRun& checked) {
  for (const GateFault& fault : checked.gate.faults)
    check_fault(checked.runner.resolved(fault, checked.base), checked);
}

const CheckKind faults_kind(CheckKind::OfTable{
    .table = "faults", .after = "hash", .is_asked = asks_for_faults, .runs = check_faults});

}  // namespace

}  // namespace simmesh
