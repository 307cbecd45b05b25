#include "verify/fsdp/events.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "verify/case_world.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"
#include "verify/fsdp/record.h"

namespace simmesh {

namespace {

// run_program returns the events of all ranks; nothing after an error.
std::vector<StepEvents> run_program(const RecordedCase& recorded, const VerifyOptions& options,
                                    CaseReport& report) {
  FsdpPlan plan = read_fsdp_plan(recorded);
  std::vector<ProgramStep> program = read_program(recorded["program"], plan.model.dtype);
  std::vector<StepEvents> of_rank(std::size_t(plan.world));
  World world(world_options(options, plan.world));
  auto error = run_case(
      world,
      [&](Rank& rank) {
        ShardedModel sharded(plan);
        sharded.wrap_all();
        ProgramRun run(sharded);
        StepEvents& steps = of_rank[rank.id()];
        fsdp::ObserverScope observer([&](const fsdp::Event& event) {
          steps.back().push_back(fields_of(event, sharded.model()));
        });
        for (const ProgramStep& step : program) {
          steps.emplace_back();
          run.run(step);
        }
        for (const Tensor& parameter : sharded.model().parameters())
          rank.record(parameter.local_part());
      },
      report);
  if (error) report.mismatch(fmt::format("expected a run, got {}", error->what()));
  if (report.failed()) return {};
  return of_rank;
}

bool ranks_agree(const std::vector<StepEvents>& of_rank) {
  return std::all_of(of_rank.begin(), of_rank.end(),
                     [&](const StepEvents& steps) { return steps == of_rank[0]; });
}

CollectiveTotals totals_of(const StepEvents& steps) {
  CollectiveTotals totals;
  for (const auto& events : steps) totals.add(events);
  return totals;
}

CollectiveTotals read_totals(const CaseField& field) {
  return {field["all_gather"].integer(), field["reduce_scatter"].integer(),
          field["all_reduce"].integer()};
}

void expect_totals(CaseReport& report, const std::string& what, const CollectiveTotals& expected,
                   const CollectiveTotals& actual) {
  report.expect_equal(what, to_string(expected), to_string(actual));
}

std::string named(std::size_t index, const ProgramStep& step) {
  return fmt::format("step {} ({})", index, step.act);
}

}  // namespace

void verify_fsdp_events(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  std::vector<CaseField> steps = recorded["program"].items();
  std::vector<std::vector<fsdp::EventFields>> expected;
  expected.reserve(steps.size());
  for (const CaseField& step : steps) expected.push_back(read_events(step["events"]));
  std::vector<StepEvents> of_rank = run_program(recorded, options, report);
  if (of_rank.empty()) return;
  std::vector<ProgramStep> program = read_program(recorded["program"], DType::float32);
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_events(report, named(i, program[i]), expected[i], of_rank[0][i]);
  expect_totals(report, "totals", read_totals(recorded["totals"]), totals_of(of_rank[0]));
  report.expect_equal("ranks_agree", recorded["ranks_agree"].boolean(), ranks_agree(of_rank));
}

void verify_fsdp_counts(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  std::vector<StepEvents> of_rank = run_program(recorded, options, report);
  if (of_rank.empty()) return;
  std::vector<ProgramStep> program = read_program(recorded["program"], DType::float32);
  expect_totals(report, "counts", read_totals(recorded["counts"]), totals_of(of_rank[0]));
  std::vector<std::pair<std::string, CollectiveTotals>> passes;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].act != "forward" && program[i].act != "backward") continue;
    passes.emplace_back(program[i].act, CollectiveTotals());
    passes.back().second.add(of_rank[0][i]);
  }
  std::vector<CaseField> expected = recorded["per_step"].items();
  report.expect_equal("per_step: number", expected.size(), passes.size());
  for (std::size_t i = 0; i < std::min(expected.size(), passes.size()); ++i) {
    std::vector<CaseField> row = expected[i].items();
    if (row.size() != 4) expected[i].reject("a pass and three numbers");
    std::string what = fmt::format("per_step[{}]", i);
    report.expect_equal(what, row[0].text(), passes[i].first);
    expect_totals(report, what, {row[1].integer(), row[2].integer(), row[3].integer()},
                  passes[i].second);
  }
  report.expect_equal("ranks_agree", recorded["ranks_agree"].boolean(), ranks_agree(of_rank));
}

}  // namespace simmesh
