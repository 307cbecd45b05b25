#include <algorithm>
#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/fsdp/program_record.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"

namespace simmesh {

namespace {

Schema counts_case_schema() {
  using namespace schema;
  Schema count = integer({.min = 0});
  Schema row = tuple({word({"forward", "backward"}), count, count, count});
  return object(fsdp_fields(
      {required("program", program_schema()),
       required("mode", word({"all", "root_only", "root_only_both", "some", "rs_only"})),
       expected("counts", totals_schema()), expected("per_step", list(row, {.min = 1})),
       expected("ranks_agree", flag())}));
}

// Returns the rows of forwards and backwards, as they are recorded.
std::vector<std::pair<std::string, CollectiveTally>> passes_of(
    const RankRecord& steps, const std::vector<CaseField>& program) {
  std::vector<std::pair<std::string, CollectiveTally>> passes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::string act = program[i]["do"].text();
    if (act == "forward" || act == "backward") passes.emplace_back(act, steps[i].tally);
  }
  return passes;
}

void verify_fsdp_counts(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  std::vector<RankRecord> of_rank = record_program(recorded, options, report);
  if (of_rank.empty()) return;
  std::vector<std::pair<std::string, CollectiveTally>> expected;
  for (const CaseField& entry : recorded["per_step"].items()) {
    std::vector<CaseField> row = entry.items();
    expected.emplace_back(row[0].text(), without_zeros({{"all_gather", row[1].integer()},
                                                        {"reduce_scatter", row[2].integer()},
                                                        {"all_reduce", row[3].integer()}}));
  }
  std::size_t ranks = recorded_ranks(report, recorded, of_rank);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::string who = fmt::format("rank {}: ", rank);
    expect_totals(report, who + "counts", recorded["counts"], of_rank[rank]);
    auto passes = passes_of(of_rank[rank], recorded["program"].items());
    report.expect_equal(who + "per_step: number", expected.size(), passes.size());
    for (std::size_t i = 0; i < std::min(expected.size(), passes.size()); ++i) {
      report.expect_equal(fmt::format("{}per_step[{}]", who, i), expected[i].first,
                          passes[i].first);
      report.expect_equal(fmt::format("{}per_step[{}]", who, i), expected[i].second,
                          passes[i].second);
    }
  }
}

const CaseKind fsdp_counts_kind({.name = "fsdp_counts",
                                 .summary = "the number of collectives of each forward and "
                                            "backward under gradient accumulation",
                                 .schema = counts_case_schema,
                                 .verifier = verify_fsdp_counts});

}  // namespace

}  // namespace simmesh
