#include <fmt/format.h>

#include "verify/case_kind.h"
#include "verify/case_world.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/run_train.h"

namespace simmesh {

namespace {

Schema pipeline_errors_schema() {
  using namespace schema;
  Field at = expected("at", text()).or_absent("the place isn't always recorded");
  Schema of_rank = either(
      {null(), word({"waits", "died"}), raises_schema({at, label("cause", text()).or_absent()})});
  Fields results = {optional("grads", flag())};
  return object(pipeline_case_fields(
      {expected("by_rank", list(of_rank, {.min = 1})),
       label("tolerance", object({required("rtol", number()), required("atol", number())}))
           .or_absent()},
      std::move(results)));
}

// The end of a rank: an error and its place, or none; `has_ended` is false for one that waits.
struct RankEnd {
  bool has_ended = false;
  std::optional<Error> error;
  std::string at;
};

void run_to_end(const PipelineCase& plan, const Rank& rank, RankEnd& end) {
  end.at = "build";
  try {
    PipelineRank pipeline(plan, rank, false);
    pipeline.build();
    end.at = "schedule";
    pipeline.make_schedule();
    for (std::size_t i = 0; i < plan.program.size(); ++i) {
      end.at = fmt::format("step {}", i);
      pipeline.run(plan.program[i]);
    }
  } catch (const BadCase&) {
    throw;
  } catch (const Error& error) {
    end.error = error;
  }
  end.has_ended = true;
}

void expect_end(CaseReport& report, const std::string& who, const CaseField& expected,
                const RankEnd& actual) {
  auto in_words = [&] {
    if (!actual.has_ended) return std::string("a rank that waits");
    if (!actual.error) return std::string("no error");
    return fmt::format("{} at {}", actual.error->what(), actual.at);
  };
  if (expected.is_null()) {
    if (!actual.has_ended || actual.error)
      report.mismatch(fmt::format("{}: expected no error, got {}", who, in_words()));
    return;
  }
  if (expected.is_text()) {
    // No rank of ours dies.
    if (actual.has_ended || expected.text() == "died")
      report.mismatch(
          fmt::format("{}: expected a rank that {}, got {}", who, expected.text(), in_words()));
    return;
  }
  if (!actual.error)
    return report.mismatch(
        fmt::format("{}: expected {}, got {}", who, expected["type"].text(), in_words()));
  expect_raises(report, who, expected, [&] { throw *actual.error; });
  if (auto at = expected.find("at")) report.expect_equal(who + ": at", at->text(), actual.at);
}

// The recorded system's errors in cases that are disputed for them are ours only where they are
// right. All of these run to their end.
void expect_no_errors(CaseReport& report, const std::vector<RankEnd>& ends) {
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    if (ends[rank].has_ended && !ends[rank].error) continue;
    report.mismatch(fmt::format("rank {}: expected a run without errors, got {}", rank,
                                ends[rank].error ? ends[rank].error->what() : "one that waits"));
  }
}

void verify_pipeline_errors(const RecordedCase& recorded, const VerifyOptions& options,
                            CaseReport& report) {
  PipelineCase plan = read_pipeline_case(recorded);
  std::vector<CaseField> expected = recorded["by_rank"].items();
  if (std::int64_t(expected.size()) != plan.world) recorded["by_rank"].reject("one entry a rank");
  std::vector<RankEnd> ends(std::size_t(plan.world));
  World world(world_options(options, plan.world));
  Outcome outcome = world.run([&](Rank& rank) { run_to_end(plan, rank, ends[rank.id()]); });
  report.fold_schedule(outcome.schedule_hash);
  if (outcome.failure && outcome.failure->kind != Failure::Kind::deadlock) outcome.rethrow();
  if (recorded.has("why")) return expect_no_errors(report, ends);
  for (std::size_t rank = 0; rank < ends.size(); ++rank)
    expect_end(report, fmt::format("rank {}", rank), expected[rank], ends[rank]);
}

const CaseKind pipeline_errors_kind(
    {.name = "pipeline_errors",
     .summary = "misuse of pipelines: the error of each rank, where it is raised, and which ranks "
                "wait",
     .schema = pipeline_errors_schema,
     .verifier = verify_pipeline_errors});

}  // namespace

}  // namespace simmesh
