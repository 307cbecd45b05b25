#include "pipeline/analysis/liveness.h"

#include "verify/case_kind.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/case_rows.h"

namespace simmesh {

namespace {

Schema pipeline_liveness_schema() {
  using namespace schema;
  auto with_input = [](Fields results) {
    results.insert(
        results.begin(),
        {required("row", row_schema()), required("microbatches", microbatches_schema()),
         required("stages", list(integer(), {.max = 1024})), required("granularity", text())});
    return results;
  };
  Schema lifetime = tuple({integer(), integer(), integer(), integer(), integer()});
  return object_of({{"raises", with_input({expected("raises", raises_schema())})},
                    {"slots", with_input({expected("slots", integer()),
                                          expected("lifetimes", list(lifetime))})}});
}

void verify_pipeline_liveness(const RecordedCase& recorded, const VerifyOptions&,
                              CaseReport& report) {
  pipeline::Row row = pipeline::parse_row(recorded["row"].text());
  std::vector<std::int64_t> stages = recorded["stages"].integers();
  std::int64_t microbatches = recorded["microbatches"].integer();
  if (std::int64_t(stages.size()) * microbatches > (1 << 18))
    recorded["stages"].reject("at most 2^18 stages times micro-batches");
  auto analyze = [&] {
    auto granularity = pipeline::liveness_granularity_from_string(recorded["granularity"].text());
    return pipeline::analyze_activation_liveness(row, stages, microbatches, granularity);
  };
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "the analysis", *raises, [&] { analyze(); });
  pipeline::ActivationLiveness liveness = analyze();
  report.expect_equal("number of slots", recorded["slots"].integer(), liveness.slots);
  std::vector<std::vector<std::int64_t>> expected, actual;
  for (const CaseField& lifetime : recorded["lifetimes"].items())
    expected.push_back(lifetime.integers());
  for (const pipeline::ActivationLifetime& lifetime : liveness.lifetimes)
    actual.push_back(
        {lifetime.stage, lifetime.microbatch, lifetime.slot, lifetime.first, lifetime.last});
  report.expect_equal("lifetimes", expected, actual);
}

const CaseKind pipeline_liveness_kind({.name = "pipeline_liveness",
                                       .summary = "slots and lifetimes of a rank's activations",
                                       .schema = pipeline_liveness_schema,
                                       .verifier = verify_pipeline_liveness});

}  // namespace

}  // namespace simmesh
