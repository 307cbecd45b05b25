#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/analysis/spacing.h"
#include "pipeline/lowering/lower.h"

namespace simmesh::pipeline {

// ScheduleReport is what a schedule costs: in units of time in which F, I and W take one, B two and
// a compound action three, and in activations that are held.
struct ScheduleReport {
  // OfRank is what one rank does and needs.
  struct OfRank {
    std::vector<std::int64_t> stages;
    std::int64_t peak_activations;
    std::int64_t idle;  // time units up to the end of the schedule
    Row order;          // compute actions
    Row actions;        // all that the rank does
  };

  std::string schedule;
  ScheduleShape shape;
  std::vector<OfRank> ranks;
  SpacedSchedule spaced;

  // title returns the schedule and its shape in words.
  std::string title() const;
};

// report_schedule builds a schedule and measures it. Raises as build_schedule does.
ScheduleReport report_schedule(ScheduleClass schedule, const ScheduleShape& shape,
                               const ScheduleOptions& options = {});

// ReportOptions say what is printed: the last line only, or messages, unshards, reductions and
// waits in the rows too.
struct ReportOptions {
  bool is_quiet = false;
  bool shows_actions = false;
};
// to_text returns the report as text, whose last line is the bubble.
std::string to_text(const ScheduleReport& report, const ReportOptions& options = {});

}  // namespace simmesh::pipeline
