#pragma once

#include <string>
#include <vector>

#include "core/engine/world.h"
#include "replay/run/rank_replay.h"

namespace simmesh::replay {

// ReplayJobOptions are the options of a run of a program. The World gets as many ranks as the
// program; devices, where it models them, don't check races, because a trace doesn't have
// everything that its program waited for.
struct ReplayJobOptions {
  WorldOptions world = {};
  IterationOptions run = {};
  // A job whose communications use more memory than this, in bytes and over all ranks, runs in a
  // world of shapes only.
  std::int64_t data_bytes_max = std::int64_t(4) << 30;
};

// JobReplay is the result of a replay. The data hash is the same under every schedule, unless ranks
// receive from any source. A job that hangs, or whose ranks don't agree, is a failure of the
// outcome: its report names nodes of the traces, as "rank-0.json:1103".
struct JobReplay {
  Outcome outcome;
  std::vector<std::vector<CommOutput>> outputs;  // by rank; none in a world of shapes only
};

// replay_job runs all ranks of a program in one World.
//
//   replay::TraceJob job = replay::read_job(paths);
//   replay::Findings findings;
//   replay::JobGroups groups = replay::resolve_groups(job, findings);
//   replay::JobReplay replayed = replay::replay_job(replay::make_program(job, groups));
//
// Raises as World does for options that make no sense, and a ValueError for a negative number of
// iterations.
JobReplay replay_job(const ReplayProgram& program, ReplayJobOptions options = {});

// data_bytes returns the memory that the communications of all ranks use.
std::int64_t data_bytes(const ReplayProgram& program);

}  // namespace simmesh::replay
