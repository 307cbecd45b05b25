#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "replay/analysis/job_collectives.h"

namespace simmesh::replay {

// PathKind is the kind of a stretch of the critical path: `moving` is a communication from the time
// at which its last rank came, `communication` one of which nobody knows who came last, so that it
// may be moving or waiting, `idle` a device that waits for its host.
enum class PathKind : std::uint8_t { compute, copy, moving, communication, idle };
std::string_view to_string(PathKind kind);

// PathStretch is a part of the critical path, on one rank.
struct PathStretch {
  PathKind kind = PathKind::compute;
  std::uint32_t rank = 0;  // in JobTimeline::ranks
  double begin_us = 0;
  double end_us = 0;
  std::optional<std::uint32_t> span;  // of the rank; none where it is idle

  double length_us() const { return end_us - begin_us; }
};

// CriticalPath is the sequence of spans that determines a job's time, from the first span of a
// device to the last: stretches in the order of time, each of which begins where the one before
// ends. To shorten the job one of them must be shortened.
struct CriticalPath {
  std::vector<PathStretch> stretches;
  std::map<PathKind, double> by_kind_us;
  std::vector<double> by_rank_us;  // by place in JobTimeline::ranks

  // length_us returns the length of all stretches.
  double length_us() const;
};

// critical_path walks back from the last end of a device's span. A computation leads to the span
// that ended last before it on its rank, and a communication to the rank that came last: the time
// that other ranks wait for it isn't on the path. Where nobody knows who came last, the path stays
// on its rank. Stretches that overlap because clocks of hosts
// differ are cut.
CriticalPath critical_path(const JobTimeline& job, const std::vector<JobCollective>& collectives);

}  // namespace simmesh::replay
