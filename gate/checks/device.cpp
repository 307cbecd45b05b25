#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

bool asks_for_device(const GateFile& gate) { return gate.device.has_value(); }

// Runs the gate on simulated devices. It is a run of its own, so that reports cost the devices
// neither time nor memory.
void check_device(CheckedRun& checked) {
  GateRunner::Request request{
      .schedule = checked.runner.schedule_at(0), .on_devices = true, .is_traced = true};
  std::optional<RunRecorder> recorder;
  if (checked.records)
    request.recorder = &recorder.emplace(checked.recorded_ranks(), checked.records->limits);
  GateRun run = checked.runner.run(request);
  // Its times are those of devices, and its memory has nothing that only serves reports.
  if (recorder) checked.records->sections = recorder->sections();
  checked.keep_failure(run.outcome);
  DeviceFigures figures;
  bool is_complete = run.outcome.ok();
  for (const DeviceReport& report : run.outcome.devices) {
    is_complete &= report.is_complete;
    figures.makespan_us = std::max(figures.makespan_us, report.makespan_us);
    figures.exposed_communication_us =
        std::max(figures.exposed_communication_us, report.exposed_communication_us);
    figures.reserved_bytes = std::max(figures.reserved_bytes, report.memory.reserved.peak);
  }
  checked.add("device", is_complete, "all operations to end and no races between streams",
              run.outcome.ok() ? is_complete ? "both" : "operations that wait for one another"
                               : ending_of(run.outcome));
  if (is_complete) checked.result.device = figures;
}

const CheckKind device_kind(CheckKind::OfTable{.table = "device",
                                               .after = "unused_gathers",
                                               .is_asked = asks_for_device,
                                               .runs = check_device});

struct ExpectedExposure {
  double us_max = 0.0;  // 0: not checked
};

void read_exposure(GateTable& table, const ExpectUse& use, GateExpect& expect) {
  double us_max = table.number("exposed_us_max", 0.0, {0, 1e15});
  if (us_max > 0 && !use.has_device)
    table.reject("exposed_us_max", "no such key in a gate without the table [device]");
  expect.set_own(ExpectedExposure{us_max});
}

void explain_exposure(const GateExpect& expect, TomlTable& table) {
  table.add("exposed_us_max", toml_number(expect.own<ExpectedExposure>().us_max));
}

bool asks_for_exposure(const GateFile& gate) {
  return gate.expect.own<ExpectedExposure>().us_max > 0;
}

// Checks the figures of the device. Without figures that check has failed already.
void check_exposure(CheckedRun& checked) {
  if (!checked.result.device) return;
  double us_max = checked.gate.expect.own<ExpectedExposure>().us_max;
  double actual = checked.result.device->exposed_communication_us;
  checked.add("exposed_us_max", actual <= us_max, fmt::format("at most {} us", us_max),
              fmt::format("{:.1f} us", actual));
}

const CheckKind exposed_us_max_kind(CheckKind::OfKeys{.keys = {"exposed_us_max"},
                                                      .after = "device",
                                                      .reads = read_exposure,
                                                      .explains = explain_exposure,
                                                      .is_asked = asks_for_exposure,
                                                      .runs = check_exposure});

}  // namespace

}  // namespace simmesh
