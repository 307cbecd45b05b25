#pragma once

#include <cstdint>
#include <vector>

#include "replay/job/job_groups.h"
#include "replay/job/trace_job.h"
#include "replay/run/rank_program.h"

namespace simmesh::replay {

// ProgramOptions select the part of a job to replay. All of it by default.
struct ProgramOptions {
  std::vector<std::size_t> steps = {};     // windows of the trace, in this order; empty: the trace
  std::vector<CommKind> kinds = {};        // of communications; empty: all
  std::vector<std::uint32_t> groups = {};  // in JobGroups::groups; empty: all
  bool computes = true;                    // operators take time and memory
};

// ReplayProgram is a job in a form that a World can run: the actions of each rank, and the groups.
// It doesn't need the traces any more.
struct ReplayProgram {
  std::vector<JobGroup> groups;
  std::vector<RankProgram> ranks;  // all of the job's, by rank
  Findings warnings;               // the parts that were left out, and why
};

// make_program makes a job's program by these rules (PARAM's comm_replay, where not said
// otherwise):
// - a communication is asynchronous where the trace says so (PyTorch 2.13), and in older traces if
// a later node waits for its request; a wait without a group is for the earliest one with its
// request;
// - a send hands its message over and goes on; messages of one request, one after another, are a
// batch: all begin, and the program goes on when all have come;
// - dangling waits do nothing; communications of unknown kinds or without a group are left out,
// with a warning.
// Raises a ValueError where ranks are missing (fill_missing_ranks makes them), an IndexError for a
// step that a trace doesn't have.
ReplayProgram make_program(const TraceJob& job, const JobGroups& groups,
                           const ProgramOptions& options = {});

}  // namespace simmesh::replay
