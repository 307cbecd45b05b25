#include "verify/fsdp/program_record.h"

#include <algorithm>
#include <fmt/format.h>

#include "verify/case_world.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"

namespace simmesh {

namespace {

CollectiveTally totals_of(const RankRecord& steps) {
  CollectiveTally totals;
  for (const StepRecord& step : steps)
    for (const auto& [name, count] : step.tally) totals[name] += count;
  return totals;
}

}  // namespace

Schema totals_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  return object({expected("all_gather", count), expected("reduce_scatter", count),
                 expected("all_reduce", count)});
}

std::vector<RankRecord> record_program(const RecordedCase& recorded, const VerifyOptions& options,
                                       CaseReport& report) {
  FsdpPlan plan = read_fsdp_plan(recorded);
  std::vector<ProgramStep> program = read_program(recorded["program"], plan.model.dtype);
  require_program(recorded, plan, program);
  std::vector<RankRecord> of_rank(std::size_t(plan.world));
  World world(world_options(options, plan.world));
  auto error = run_case(
      world,
      [&](Rank& rank) {
        ShardedModel sharded(plan);
        sharded.wrap_all();
        ProgramRun run(sharded);
        RankRecord& steps = of_rank[rank.id()];
        fsdp::ObserverScope observer([&](const fsdp::Event& event) {
          steps.back().events.push_back(fields_of(event, sharded.model()));
        });
        for (const ProgramStep& step : program) {
          steps.emplace_back();
          auto counted_before = rank.counters();
          run.run(step);
          steps.back().tally = tally_since(counted_before, rank);
        }
        for (const Tensor& parameter : sharded.model().parameters())
          rank.record(parameter.local_part());
      },
      report);
  if (error) report.mismatch(fmt::format("expected a run, got {}", error->what()));
  if (report.failed()) return {};
  return of_rank;
}

std::size_t recorded_ranks(CaseReport& report, const RecordedCase& recorded,
                           const std::vector<RankRecord>& of_rank) {
  bool agree = std::all_of(of_rank.begin(), of_rank.end(),
                           [&](const RankRecord& steps) { return steps == of_rank[0]; });
  bool expected = recorded["ranks_agree"].boolean();
  report.expect_equal("ranks_agree", expected, agree);
  return expected ? of_rank.size() : 1;
}

void expect_totals(CaseReport& report, const std::string& what, const CaseField& expected,
                   const RankRecord& steps) {
  report.expect_equal(what, read_tally(expected), totals_of(steps));
}

}  // namespace simmesh
