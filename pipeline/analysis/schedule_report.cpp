#include "pipeline/analysis/schedule_report.h"

#include <fmt/format.h>

#include "core/check/append_text.h"
#include "core/check/join_text.h"
#include "pipeline/analysis/peaks.h"
#include "pipeline/schedule/order.h"

namespace simmesh::pipeline {

namespace {

std::string counted_of(std::int64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

}  // namespace

std::string ScheduleReport::title() const {
  return fmt::format("{}: {}, {} a rank, {}", schedule, counted_of(shape.ranks, "rank", "ranks"),
                     counted_of(shape.stages_per_rank, "stage", "stages"),
                     counted_of(shape.microbatches, "micro-batch", "micro-batches"));
}

ScheduleReport report_schedule(ScheduleClass schedule, const ScheduleShape& shape,
                               const ScheduleOptions& options) {
  LoweredSchedule lowered = build_schedule(schedule, shape, options);
  const Rows& order = lowered.passes.front().rows;
  ScheduleReport report{.schedule = std::string(to_string(schedule)),
                        .shape = shape,
                        .ranks = {},
                        .spaced = space_out(compute_rows(order))};
  Peaks peaks = activation_peaks(order, shape.stages());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    report.ranks.push_back({.stages = lowered.map.stages_of(std::int64_t(rank)),
                            .peak_activations = peaks.by_rank[rank],
                            .idle = report.spaced.idle_of(rank),
                            .order = order[rank],
                            .actions = lowered.rows()[rank]});
  return report;
}

std::string to_text(const ScheduleReport& report, const ReportOptions& options) {
  std::string text;
  if (!options.is_quiet) {
    append_text(text, "{}\n", report.title());
    for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
      const ScheduleReport::OfRank& of_rank = report.ranks[rank];
      append_text(text, "rank {}: stages {}; peak activations {}; idle {} of {}\n", rank,
                  join_text(of_rank.stages, ", "), of_rank.peak_activations, of_rank.idle,
                  report.spaced.end);
      append_text(text, "  {}\n",
                  to_string(options.shows_actions ? of_rank.actions : of_rank.order));
    }
  }
  append_text(text, "bubble: {:.1f} % of {} time units\n", 100 * report.spaced.bubble(),
              report.spaced.end);
  return text;
}

}  // namespace simmesh::pipeline
