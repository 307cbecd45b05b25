#include <fmt/format.h>
#include <limits>

#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

struct ExpectedPeak {
  std::int64_t bytes_max = 0;  // 0: not checked
};

void read_peak(GateTable& table, const ExpectUse&, GateExpect& expect) {
  expect.set_own(ExpectedPeak{
      table.integer("peak_bytes_max", 0, {0, std::numeric_limits<std::int64_t>::max()})});
}

void explain_peak(const GateExpect& expect, TomlTable& table) {
  table.add("peak_bytes_max", expect.own<ExpectedPeak>().bytes_max);
}

bool asks_for_peak(const GateFile& gate) { return gate.expect.own<ExpectedPeak>().bytes_max > 0; }

void check_peak(CheckedRun& checked) {
  std::int64_t bytes_max = checked.gate.expect.own<ExpectedPeak>().bytes_max;
  std::int64_t actual = checked.result.peak_bytes;
  checked.add("peak_bytes_max", actual <= bytes_max, fmt::format("at most {} bytes", bytes_max),
              std::to_string(actual));
}

const CheckKind peak_bytes_max_kind(CheckKind::OfKeys{.keys = {"peak_bytes_max"},
                                                      .after = "exposed_us_max",
                                                      .reads = read_peak,
                                                      .explains = explain_peak,
                                                      .is_asked = asks_for_peak,
                                                      .runs = check_peak});

}  // namespace

}  // namespace simmesh
