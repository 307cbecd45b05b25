#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/fsdp/program_record.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"

namespace simmesh {

namespace {

Schema events_case_schema() {
  using namespace schema;
  return object(fsdp_fields(
      {required("program", program_schema({.all = {expected("events", events_schema())}})),
       expected("totals", totals_schema()), expected("ranks_agree", flag())}));
}

void verify_fsdp_events(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  std::vector<CaseField> steps = recorded["program"].items();
  std::vector<std::vector<fsdp::EventFields>> expected;
  expected.reserve(steps.size());
  for (const CaseField& step : steps) expected.push_back(read_events(step["events"]));
  std::vector<RankRecord> of_rank = record_program(recorded, options, report);
  if (of_rank.empty()) return;
  std::size_t ranks = recorded_ranks(report, recorded, of_rank);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_events(report, fmt::format("rank {}: step {} ({})", rank, i, steps[i]["do"].text()),
                    expected[i], of_rank[rank][i].events);
    expect_totals(report, fmt::format("rank {}: totals", rank), recorded["totals"], of_rank[rank]);
  }
}

const CaseKind fsdp_events_kind(
    {.name = "fsdp_events",
     .summary = "the events of every step of a program under `fully_shard`, in order, and the "
                "totals of collectives",
     .schema = events_case_schema,
     .verifier = verify_fsdp_events});

}  // namespace

}  // namespace simmesh
