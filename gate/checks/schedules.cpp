#include <fmt/format.h>

#include "core/check/hash_text.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

// TakesCertificate is true if one run may stand for all schedules.
struct TakesCertificate {
  bool value = true;
};

void read_schedules(GateTable& table, const ExpectUse&, GateExpect& expect) {
  expect.schedules = table.integer("schedules", expect.schedules, {1, 10'000'000});
  expect.set_own(TakesCertificate{table.boolean("certificate", true)});
}

void explain_schedules(const GateExpect& expect, TomlTable& table) {
  table.add("schedules", expect.schedules);
  table.add("certificate", expect.own<TakesCertificate>().value);
}

bool asks_for_schedules(const GateFile& gate) { return gate.expect.schedules > 1; }

// Runs the gate under the other schedules, until the data hash differs, unless the base run proves
// that none can.
void check_schedules(CheckedRun& checked) {
  std::int64_t schedules = checked.gate.expect.schedules;
  std::string expected = fmt::format("one data hash under {} schedules", schedules);
  if (checked.gate.expect.own<TakesCertificate>().value && checked.base.outcome.touches.empty())
    return checked.add("schedules", true, expected, "one: 1 run stands for all schedules");
  for (std::int64_t i = 1; i < schedules; ++i) {
    Schedule schedule = checked.runner.schedule_at(std::uint64_t(i));
    GateRun run =
        checked.runner.run({.schedule = schedule, .record_choices = checked.records != nullptr});
    if (checked.records)
      checked.records->try_schedule(schedule.name(), checked.base.outcome, run.outcome,
                                    ending_of(run.outcome));
    if (run.outcome.ok() && run.outcome.data_hash == checked.base.outcome.data_hash) continue;
    checked.keep_failure(run.outcome);
    return checked.add(
        "schedules", false, fmt::format("data hash {}", hash_text(checked.result.data_hash)),
        fmt::format("{} under schedule {}", ending_of(run.outcome), schedule.name()));
  }
  checked.add("schedules", true, expected, "one");
}

const CheckKind schedules_kind(CheckKind::OfKeys{.keys = {"schedules", "certificate"},
                                                 .after = "checkpoint",
                                                 .reads = read_schedules,
                                                 .explains = explain_schedules,
                                                 .is_asked = asks_for_schedules,
                                                 .runs = check_schedules});

}  // namespace

}  // namespace simmesh
