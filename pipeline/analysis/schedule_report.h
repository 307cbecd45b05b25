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

  std::string title() const;
};

// report_schedule builds a schedule and measures it. Raises as build_schedule does.
ScheduleReport report_schedule(ScheduleClass schedule, const ScheduleShape& shape,
                               const ScheduleOptions& options = {});

// to_text returns the report as text; the last line is the bubble, which is all of it with
// is_quiet. With shows_actions the rows have messages, unshards, reductions and waits too.
struct ReportOptions {
  bool is_quiet = false;
  bool shows_actions = false;
};
std::string to_text(const ScheduleReport& report, const ReportOptions& options = {});

}  // namespace simmesh::pipeline
