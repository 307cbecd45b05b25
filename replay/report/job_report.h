#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/analysis/bandwidth.h"
#include "replay/analysis/collective_order.h"
#include "replay/analysis/comm_table.h"
#include "replay/analysis/critical_path.h"
#include "replay/analysis/exposed.h"
#include "replay/analysis/skew.h"
#include "replay/analysis/step_times.h"
#include "replay/memory/memory_plan.h"
#include "replay/run/fit_links.h"
#include "replay/run/what_if.h"
#include "replay/timeline/timeline.h"
#include "replay/trace/finding.h"
#include "replay/trace/trace_summary.h"

namespace simmesh::replay {

// JobCheck is a condition that must hold for a job.
struct JobCheck {
  std::string name;
  bool has_passed = false;
  std::string text;  // the result
};

// ReportedTrace is one of the traces of a job.
struct ReportedTrace {
  std::int64_t rank = 0;
  std::string file;
  TraceSummary summary;
  MemoryPlan memory;
  std::string device;  // to which the memory belongs: "cuda"
};

// ReportedRun is the result of replays of a job.
struct ReportedRun {
  std::size_t ranks = 0;
  std::size_t communications = 0;  // of all ranks in one iteration
  std::size_t operators = 0;
  std::size_t compared = 0;  // outputs, with the serial oracle
  std::size_t dangling_waits = 0;
  std::size_t never_waited_for = 0;
  std::size_t left_out = 0;
  std::int64_t schedules = 0;
  bool shapes_only = false;
  std::uint64_t data_hash = 0;
  std::uint64_t schedule_hash = 0;  // of the first schedule
  std::int64_t peak_bytes = 0;      // of the rank that holds most
};

// ReportedTimes is a job's timeline and its analysis. Vectors are by place in JobTimeline::ranks.
struct ReportedTimes {
  bool is_simulated = false;
  JobTimeline timeline;
  std::vector<JobCollective> collectives;
  JobSkew skew;
  std::vector<RankBandwidth> bandwidths;
  std::vector<CommRow> table;
  std::vector<bool> has_device;  // else the figures of `busy` are unknown
  std::vector<RankBusy> busy;
  std::vector<std::vector<OvertakenComm>> overtaken;
  std::vector<ReorderedCollective> reordered;
  std::vector<StepTimes> steps;
  CriticalPath path;
};

// AllToAllMatrix is the elements that the members of a group send each other in one all-to-all.
struct AllToAllMatrix {
  std::string name;
  std::int64_t node = 0;                            // of the first member
  std::vector<std::int64_t> members;                // global ranks
  std::vector<std::vector<std::int64_t>> elements;  // by sender, then receiver
  std::int64_t item_bytes = 0;
};

// ReportedWhatIf is the result of a what-if change of a job.
struct ReportedWhatIf {
  std::string name;
  WhatIfTimes times;
};

// JobReport is the whole report about a job, as `simmesh replay` prints it.
struct JobReport {
  std::vector<ReportedTrace> traces;
  std::vector<std::string> made_up;   // ranks that have no trace
  std::vector<std::string> left_out;  // files that are no traces
  Findings findings;
  std::vector<JobCheck> checks;
  std::optional<ReportedRun> run;
  std::optional<ReportedTimes> times;
  std::vector<AllToAllMatrix> all_to_alls;
  std::optional<FittedLinks> links;
  std::vector<ReportedWhatIf> what_if;
  std::string failure;    // of a replay that failed, in full
  std::string reproduce;  // the command that shows failed checks again, where one is known

  std::size_t passed() const;
  std::size_t failed() const { return checks.size() - passed(); }
};

}  // namespace simmesh::replay
