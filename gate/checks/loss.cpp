#include <cmath>
#include <fmt/format.h>

#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

struct ExpectedLoss {
  std::vector<double> of_steps;  // empty: not checked
  double rtol = 0.0;
};

void read_loss(GateTable& table, const ExpectUse& use, GateExpect& expect) {
  ExpectedLoss loss = {table.numbers("loss"), table.number("loss_rtol", 0.0, {0, 1})};
  if (!loss.of_steps.empty() && std::int64_t(loss.of_steps.size()) != use.steps)
    table.reject_value("loss", fmt::format("one loss per step, {} in all", use.steps),
                       fmt::format("{}", loss.of_steps.size()));
  expect.set_own(std::move(loss));
}

void explain_loss(const GateExpect& expect, TomlTable& table) {
  const auto& loss = expect.own<ExpectedLoss>();
  table.add("loss", toml_list(loss.of_steps, toml_number));
  table.add("loss_rtol", toml_number(loss.rtol));
}

bool asks_for_loss(const GateFile& gate) {
  return !gate.expect.own<ExpectedLoss>().of_steps.empty();
}

void check_loss(CheckedRun& checked) {
  const auto& loss = checked.gate.expect.own<ExpectedLoss>();
  for (std::size_t step = 0; step < loss.of_steps.size(); ++step) {
    double expected = loss.of_steps[step], actual = checked.result.losses[step];
    bool holds =
        actual == expected || std::abs(actual - expected) <= loss.rtol * std::abs(expected);
    checked.add(fmt::format("loss of step {}", step), holds,
                fmt::format("{} within {}", expected, loss.rtol), fmt::format("{}", actual));
  }
}

const CheckKind loss_kind(CheckKind::OfKeys{.keys = {"loss", "loss_rtol"},
                                            .after = "memory_bytes_max",
                                            .needs_data = true,
                                            .reads = read_loss,
                                            .explains = explain_loss,
                                            .is_asked = asks_for_loss,
                                            .runs = check_loss});

}  // namespace

}  // namespace simmesh
