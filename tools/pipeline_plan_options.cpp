#include "tools/pipeline_plan_options.h"

#include <filesystem>

#include "core/check/error.h"
#include "core/check/json_value.h"
#include "core/check/write_file.h"
#include "pipeline/analysis/schedule_picture.h"
#include "pipeline/analysis/schedule_report.h"
#include "tools/terminal.h"
#include "tools/whole_number.h"

namespace simmesh {

namespace {

// Larger plans take long, and nobody reads them.
constexpr std::int64_t pipeline_ranks_max = 1024, pipeline_actions_max = 1 << 16;

JsonValue pipeline_json(const pipeline::ScheduleReport& report) {
  JsonValue::List ranks;
  for (const pipeline::ScheduleReport::OfRank& rank : report.ranks) {
    JsonValue::List stages;
    for (std::int64_t stage : rank.stages) stages.push_back(stage);
    ranks.push_back(JsonValue::object({{"stages", stages},
                                       {"peak_activations", rank.peak_activations},
                                       {"idle", rank.idle},
                                       {"order", pipeline::to_string(rank.order)},
                                       {"actions", pipeline::to_string(rank.actions)}}));
  }
  return JsonValue::object({{"schedule", report.schedule},
                            {"microbatches", report.shape.microbatches},
                            {"ranks", ranks},
                            {"time", report.spaced.end},
                            {"bubble", report.spaced.bubble()}});
}

}  // namespace

void PipelinePlanOptions::add_to(CLI::App& app) {
  auto positive = whole_number(1, std::uint64_t(pipeline_actions_max));
  CLI::Option* name = app.add_option(
      "--pipeline", schedule,
      "plan a pipeline schedule instead: GPipe, 1F1B, ForwardOnly, LoopedBFS, Interleaved1F1B, "
      "InterleavedZeroBubble, ZBVZeroBubble or DualPipeV; last line: bubble: X %");
  app.add_option("--ranks", ranks, "ranks of the pipeline")
      ->check(whole_number(1, std::uint64_t(pipeline_ranks_max)))
      ->needs(name);
  app.add_option("--microbatches", microbatches, "micro-batches of a step")
      ->check(positive)
      ->needs(name);
  app.add_option("--stages-per-rank", stages_per_rank, "stages of each rank")
      ->default_str("one, or two where the schedule is for several")
      ->check(whole_number(1, std::uint64_t(pipeline_ranks_max)))
      ->needs(name);
  app.add_flag("--all-actions", all_actions,
               "print messages, unshards, reductions and waits, not just what is computed")
      ->needs(name);
}

void PipelinePlanOptions::run(const OutputOptions& output, const std::string& picture) const {
  if (ranks == 0) throw CLI::RequiredError("--ranks");
  if (microbatches == 0) throw CLI::RequiredError("--microbatches");
  auto chosen = pipeline::schedule_class_from_string(schedule);
  std::int64_t by_default = pipeline::is_single_stage(chosen) ? 1 : 2;
  pipeline::ScheduleShape shape{ranks, stages_per_rank == 0 ? by_default : stages_per_rank,
                                microbatches};
  if (pipeline::is_single_stage(chosen) && shape.stages_per_rank != 1)
    raise(ErrorKind::value_error, "tools/plan", "{}: expected one stage a rank, got {}",
          to_string(chosen), shape.stages_per_rank);
  if (shape.stages() * shape.microbatches > pipeline_actions_max)
    raise(ErrorKind::value_error, "tools/plan",
          "expected at most {} stages times micro-batches, got {} times {}", pipeline_actions_max,
          shape.stages(), shape.microbatches);
  if (!picture.empty() && std::filesystem::path(picture).extension() != ".svg")
    raise(ErrorKind::value_error, "tools/plan",
          "--picture: expected a file that ends in .svg, got '{}'", picture);
  pipeline::ScheduleReport report = pipeline::report_schedule(chosen, shape);
  if (!picture.empty())
    write_file(picture, pipeline::schedule_svg(report.spaced, report.title()), "the picture");
  if (output.json)
    print_report(pipeline_json(report).text_utf8() + "\n");
  else
    print_report(to_text(report, {.is_quiet = output.quiet, .shows_actions = all_actions}));
}

}  // namespace simmesh
