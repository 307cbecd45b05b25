#include "verify/case_kind.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/case_rows.h"

namespace simmesh {

namespace {

Schema pipeline_csv_schema() {
  using namespace schema;
  auto with_input = [](Fields results) {
    results.insert(results.begin(),
                   {required("csv", any_text()), required("format", any_text()),
                    required("stages", stages_schema()), required("ranks", stages_schema()),
                    required("microbatches", microbatches_schema()),
                    required("options", pipeline_options_schema())});
    return results;
  };
  return object_of({{"raises", with_input({expected("raises", raises_schema())})},
                    {"final", with_input({expected("final", list(any_text())),
                                          expected("stage_to_rank", list(integer())),
                                          expected("by_rank", list(integer()))})}});
}

void verify_pipeline_csv(const RecordedCase& recorded, const VerifyOptions&, CaseReport& report) {
  pipeline::ScheduleSize size{recorded["ranks"].integer(), recorded["stages"].integer(),
                              recorded["microbatches"].integer()};
  pipeline::ScheduleOptions options = read_pipeline_options(recorded["options"]);
  std::string csv = recorded["csv"].text(), format = recorded["format"].text();
  auto load = [&] { return pipeline::load_csv(csv, format, size, options); };
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "loading", *raises, [&] { load(); });
  pipeline::LoweredSchedule schedule = load();
  report.expect_equal("ranks of the stages", recorded["stage_to_rank"].integers(),
                      schedule.map.ranks(size.stages));
  report.expect_equal("rows", recorded["final"].texts(), row_texts(schedule.rows()));
  std::vector<std::int64_t> ranks;
  for (std::size_t rank = 0; rank < schedule.rows().size(); ++rank)
    ranks.push_back(std::int64_t(rank));
  report.expect_equal("ranks with a row", recorded["by_rank"].integers(), ranks);
}

const CaseKind pipeline_csv_kind({.name = "pipeline_csv",
                                  .summary = "a schedule loaded from CSV, and what runs then",
                                  .schema = pipeline_csv_schema,
                                  .verifier = verify_pipeline_csv});

}  // namespace

}  // namespace simmesh
