#include <fmt/format.h>

#include "pipeline/lowering/lower.h"
#include "verify/case_kind.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/case_rows.h"

namespace simmesh {

namespace {

Schema pipeline_accepts_schema() {
  using namespace schema;
  Fields fields = pipeline_shape_fields();
  fields.pop_back();  // the micro-batches are counted up
  fields.push_back(required("schedule", text()));
  const char* why = "each entry is a number of micro-batches of its own";
  fields.push_back(expected("by_microbatches", list(or_null(raises_schema()), {.max = 256}))
                       .because(why)
                       .or_fewer(why));
  return object(std::move(fields));
}

void verify_pipeline_accepts(const RecordedCase& recorded, const VerifyOptions&,
                             CaseReport& report) {
  auto schedule = pipeline::schedule_class_from_string(recorded["schedule"].text());
  std::vector<CaseField> outcomes = recorded["by_microbatches"].items();
  pipeline::ScheduleShape shape{.ranks = recorded["ranks"].integer(),
                                .stages_per_rank = recorded["stages_per_rank"].integer(),
                                .microbatches = 0};
  if (shape.stages() > 1024) recorded["ranks"].reject("at most 1024 stages");
  for (const CaseField& outcome : outcomes) {
    ++shape.microbatches;
    std::string who = fmt::format("{} micro-batches", shape.microbatches);
    auto build = [&] { pipeline::build_schedule(schedule, shape); };
    if (!outcome.is_null()) {
      expect_raises(report, who, outcome, build);
      continue;
    }
    try {
      build();
    } catch (const Error& error) {
      report.mismatch(fmt::format("{}: expected no error, got {}", who, error.what()));
    }
  }
}

const CaseKind pipeline_accepts_kind({.name = "pipeline_accepts",
                                      .summary = "numbers of micro-batches that a schedule takes",
                                      .schema = pipeline_accepts_schema,
                                      .verifier = verify_pipeline_accepts});

}  // namespace

}  // namespace simmesh
