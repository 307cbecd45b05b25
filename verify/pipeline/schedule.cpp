#include <algorithm>

#include "core/check/join_text.h"
#include "pipeline/analysis/dry_run.h"
#include "pipeline/analysis/liveness.h"
#include "pipeline/analysis/peaks.h"
#include "pipeline/analysis/single_run.h"
#include "pipeline/analysis/spacing.h"
#include "pipeline/lowering/merge_bw.h"
#include "pipeline/lowering/messages.h"
#include "pipeline/lowering/send_recv.h"
#include "verify/case_kind.h"
#include "verify/pipeline/case_raises.h"
#include "verify/pipeline/case_rows.h"

namespace simmesh {

namespace {

using pipeline::Rows;

Schema counts_schema() { return schema::list(schema::integer()); }

schema::Fields schedule_results() {
  using namespace schema;
  Schema simulated = object_of({{"raises", {expected("raises", raises_schema())}},
                                {"steps",
                                 {expected("steps", integer()), expected("idle", counts_schema()),
                                  expected("hash", hash())}}});
  Schema slots = object({expected("slots", counts_schema()), expected("hash", hash())});
  Schema liveness = object_of(
      {{"raises", {expected("raises", raises_schema())}},
       {"stage_microbatch", {expected("stage_microbatch", slots), expected("microbatch", slots)}}});
  Schema spaced = object({expected("idle", counts_schema()), expected("slots", counts_schema()),
                          expected("hash", hash())});
  const char* why = "not all figures of a schedule are recorded";
  return {expected("messages_in_order", flag()).or_absent(why),
          expected("idle", counts_schema()).or_absent(why),
          expected("peak_by_stage", counts_schema()).or_absent(why),
          expected("peak_by_rank", counts_schema()).or_absent(why),
          expected("merge_bw", object({expected("hash", hash())})).or_absent(why),
          expected("simulated", simulated).or_absent(why),
          expected("spaced", spaced).or_absent(why),
          expected("liveness", liveness).or_absent(why)};
}

Schema pipeline_schedule_schema() {
  using namespace schema;
  auto with_input = [](Fields fields) {
    for (Field& field : pipeline_shape_fields()) fields.push_back(std::move(field));
    fields.push_back(required("schedule", text()));
    fields.push_back(required("options", pipeline_options_schema()));
    return fields;
  };
  Schema pass =
      object({expected("hash", hash()), expected("actions", counts_schema()),
              expected("rows", list(any_text())).or_absent("the hash is that of all rows")});
  Fields of_rows = schedule_results(), of_run = schedule_results();
  for (Fields* fields : {&of_rows, &of_run})
    fields->push_back(expected("stage_to_rank", list(integer())));
  of_rows.push_back(expected("passes", map(pass)));
  of_run.push_back(expected("executed", list(text())));
  of_run.push_back(required("loss_fn", flag()));
  of_run.push_back(required("scale_grads", flag()));
  return object_of({{"raises", with_input({expected("raises", raises_schema())})},
                    {"executed", with_input(std::move(of_run))},
                    {"passes", with_input(std::move(of_rows))}});
}

// ScheduleCheck compares what a schedule does with the fields of a case.
class ScheduleCheck {
 public:
  ScheduleCheck(const RecordedCase& recorded, CaseReport& report, pipeline::ScheduleClass schedule,
                const pipeline::ScheduleShape& shape)
      : recorded_(recorded), report_(report), schedule_(schedule), shape_(shape) {}

  void expect_passes(const pipeline::LoweredSchedule& lowered) {
    CaseField passes = recorded_["passes"];
    std::vector<std::string> names;
    for (const pipeline::LoweringPass& pass : lowered.passes) names.push_back(pass.name);
    std::sort(names.begin(), names.end());
    if (!report_.expect_equal("passes", passes.keys(), names)) return;
    for (const pipeline::LoweringPass& pass : lowered.passes)
      expect_pass(pass.name, passes[pass.name], pass.rows);
  }

  void expect_executed() {
    std::vector<std::string> rows;
    for (std::int64_t stage = 0; stage < shape_.stages(); ++stage) {
      pipeline::SingleRun run{schedule_, shape_.stages(), shape_.microbatches,
                              recorded_["loss_fn"].boolean(), recorded_["scale_grads"].boolean()};
      std::vector<std::string> events;
      computed_.emplace_back();
      for (const pipeline::RunEvent& event : pipeline::run_single_stage(run, stage)) {
        events.push_back(to_string(event));
        if (event.kind == pipeline::RunEvent::Kind::compute)
          computed_.back().push_back(event.actions.front());
      }
      rows.push_back(join_text(events, ", "));
    }
    report_.expect_equal("executed", recorded_["executed"].texts(), rows);
  }

  void take_computed(const Rows& rows) { computed_ = rows; }

  void expect_figures(const Rows& final_rows, const pipeline::StageMap& map) {
    report_.expect_equal("ranks of the stages", recorded_["stage_to_rank"].integers(),
                         map.ranks(shape_.stages()));
    if (auto field = recorded_.find("messages_in_order"))
      report_.expect_equal("messages in order", field->boolean(),
                           pipeline::keeps_message_order(final_rows, map));
    if (auto field = recorded_.find("idle"))
      report_.expect_equal("idle slots", field->integers(), idle_of(computed_));
    pipeline::Peaks peaks = pipeline::activation_peaks(computed_, shape_.stages());
    if (auto field = recorded_.find("peak_by_stage"))
      report_.expect_equal("peak by stage", field->integers(), peaks.by_stage);
    if (auto field = recorded_.find("peak_by_rank"))
      report_.expect_equal("peak by rank", field->integers(), peaks.by_rank);
    if (auto field = recorded_.find("merge_bw")) {
      Rows merged;
      for (const pipeline::Row& row : computed_) merged.push_back(pipeline::merge_bw(row));
      report_.expect_equal("merged", (*field)["hash"].text(), text_hash(to_string(merged)));
    }
    if (auto field = recorded_.find("simulated")) expect_simulated(*field, map);
    if (auto field = recorded_.find("spaced")) {
      Rows rows = pipeline::space_out(pipeline::compute_rows(computed_)).rows;
      report_.expect_equal("spaced: slots", (*field)["slots"].integers(), sizes_of(rows));
      expect_rows("spaced", *field, rows);
    }
    if (auto field = recorded_.find("liveness")) expect_liveness(*field, final_rows, map);
  }

 private:
  static std::vector<std::int64_t> idle_of(const Rows& rows) {
    std::vector<std::int64_t> idle;
    for (const pipeline::Row& row : rows) idle.push_back(pipeline::idle_slots(row));
    return idle;
  }
  static std::vector<std::int64_t> sizes_of(const Rows& rows) {
    std::vector<std::int64_t> sizes;
    for (const pipeline::Row& row : rows) sizes.push_back(std::int64_t(row.size()));
    return sizes;
  }

  void expect_pass(const std::string& name, const CaseField& expected, const Rows& rows) {
    report_.expect_equal(name + ": actions", expected["actions"].integers(), sizes_of(rows));
    if (auto texts = expected.find("rows"))
      report_.expect_equal(name + ": rows", texts->texts(), row_texts(rows));
    report_.expect_equal(name + ": hash", expected["hash"].text(), text_hash(to_string(rows)));
  }

  void expect_rows(const std::string& who, const CaseField& expected, const Rows& rows) {
    report_.expect_equal(who + ": idle", expected["idle"].integers(), idle_of(rows));
    report_.expect_equal(who + ": hash", expected["hash"].text(), text_hash(to_string(rows)));
  }

  void expect_simulated(const CaseField& expected, const pipeline::StageMap& map) {
    auto run = [&] {
      Rows rows = pipeline::compute_rows(computed_);
      rows = pipeline::add_send_recv(rows, map, shape_.stages());
      return pipeline::dry_run(rows, map, shape_.stages());
    };
    if (auto raises = expected.find("raises"))
      return expect_raises(report_, "the dry run", *raises, [&] { run(); });
    Rows rows = run();
    report_.expect_equal("simulated: steps", expected["steps"].integer(),
                         pipeline::step_count(rows));
    expect_rows("simulated", expected, rows);
  }

  void expect_liveness(const CaseField& expected, const Rows& rows, const pipeline::StageMap& map) {
    if (auto raises = expected.find("raises"))
      return expect_raises(report_, "the liveness analysis", *raises, [&] {
        for (std::size_t rank = 0; rank < rows.size(); ++rank)
          liveness_of(rows, rank, map, "stage_microbatch");
      });
    for (const char* granularity : {"stage_microbatch", "microbatch"}) {
      std::vector<std::int64_t> slots;
      std::vector<std::string> texts;
      for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        pipeline::ActivationLiveness liveness = liveness_of(rows, rank, map, granularity);
        slots.push_back(liveness.slots);
        std::vector<std::string> lifetimes;
        for (const pipeline::ActivationLifetime& life : liveness.lifetimes)
          lifetimes.push_back(fmt::format("{}.{}:{}:{}-{}", life.stage, life.microbatch, life.slot,
                                          life.first, life.last));
        texts.push_back(join_text(lifetimes, " "));
      }
      CaseField entry = expected[granularity];
      std::string who = fmt::format("liveness by {}", granularity);
      report_.expect_equal(who + ": slots", entry["slots"].integers(), slots);
      report_.expect_equal(who + ": hash", entry["hash"].text(), text_hash(join_text(texts, "\n")));
    }
  }

  pipeline::ActivationLiveness liveness_of(const Rows& rows, std::size_t rank,
                                           const pipeline::StageMap& map,
                                           const char* granularity) const {
    return pipeline::analyze_activation_liveness(
        rows[rank], map.stages_of(std::int64_t(rank)), shape_.microbatches,
        pipeline::liveness_granularity_from_string(granularity));
  }

  const RecordedCase& recorded_;
  CaseReport& report_;
  pipeline::ScheduleClass schedule_;
  pipeline::ScheduleShape shape_;
  Rows computed_;  // with idle slots
};

void verify_pipeline_schedule(const RecordedCase& recorded, const VerifyOptions&,
                              CaseReport& report) {
  pipeline::ScheduleShape shape = read_shape(recorded.root());
  pipeline::ScheduleOptions options = read_pipeline_options(recorded["options"]);
  auto schedule = pipeline::schedule_class_from_string(recorded["schedule"].text());
  auto build = [&] { return pipeline::build_schedule(schedule, shape, options); };
  if (auto raises = recorded.find("raises"))
    return expect_raises(report, "the schedule", *raises, [&] { build(); });
  ScheduleCheck check(recorded, report, schedule, shape);
  pipeline::LoweredSchedule lowered = build();
  if (recorded.has("executed")) {
    check.expect_executed();
  } else {
    check.take_computed(lowered.passes.front().rows);
    check.expect_passes(lowered);
  }
  check.expect_figures(lowered.rows(), lowered.map);
}

const CaseKind pipeline_schedule_kind(
    {.name = "pipeline_schedule",
     .summary = "orders of a pipeline schedule after each pass, and its peaks and idle slots",
     .schema = pipeline_schedule_schema,
     .verifier = verify_pipeline_schedule});

}  // namespace

}  // namespace simmesh
