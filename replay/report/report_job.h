#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/job/trace_job.h"
#include "replay/report/job_report.h"
#include "replay/run/replay_job.h"
#include "replay/run/replay_program.h"
#include "replay/run/what_if.h"
#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// NamedWhatIf is a change to a job with a name. Factors other than 1 change the job's own links:
// those that were fitted to its timeline, or else those of the device; `change` then needs no
// topology.
struct NamedWhatIf {
  std::string name;
  WhatIf change;
  double bandwidth_factor = 1;
  double latency_factor = 1;
};

// JobReportOptions are the options of a job's report.
struct JobReportOptions {
  bool replays = true;          // else it is validated and analysed only
  std::int64_t schedules = 1;   // under which it is replayed, beginning with that of `run`
  std::int64_t jobs = 1;        // of them that run side by side
  ProgramOptions program = {};  // the part of it to replay
  ReplayJobOptions run = {};
  std::vector<NamedWhatIf> what_if = {};
};

// report_job validates a job, replays it, compares the outputs of communications with a serial
// oracle, and analyses its timeline: the recorded one, or else the one from the costs of
// ReplayJobOptions' device (of a DeviceModel where it has none). A job with errors isn't replayed.
// Missing ranks are made up where that can be right. Raises an IndexError for a step that a trace
// doesn't have; every other mistake in a job is a check that fails.
JobReport report_job(TraceJob job, std::optional<JobTimeline> timeline,
                     const JobReportOptions& options = {});

}  // namespace simmesh::replay
