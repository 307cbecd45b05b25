#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/analysis/job_collectives.h"

namespace simmesh::replay {

// Bandwidths are in GB/s of 10^9 bytes, by the formulas of nccl-tests and of PyTorch's
// profiler_trace_analysis.

// bus_factor returns the factor by which algbw is multiplied to compare it with the bandwidth of
// the links, for n ranks: 2(n-1)/n for an all-reduce, (n-1)/n for collectives in which each rank
// keeps its own part, 1 for broadcast, reduce, send and recv. nullopt for an unknown name.
std::optional<double> bus_factor(std::string_view name, std::int64_t group_size);

// CommBandwidth is the bandwidth of one communication of one rank.
struct CommBandwidth {
  std::uint32_t comm = 0;  // in RankTimeline::comms
  std::string name;
  std::int64_t bytes = 0;  // the larger of its input and its output
  double length_us = 0;
  double algbw = 0;  // bytes / length, rounded to two decimals
  // The rounded algbw times bus_factor, rounded again. For an all-to-all with splits: the bytes to
  // or from other ranks, whichever are more, by length.
  double busbw = 0;
  double moved = 0;  // bytes that a link carries: bytes * bus_factor, or as for busbw
  // moved by the shortest length of the collective on any rank: without the time of waiting for
  // others. nullopt where parts of the collective are missing.
  std::optional<double> effective;
};

// RankBandwidth is the bandwidths of one rank, and the bytes that its communications moved by the
// time in which any of them ran.
struct RankBandwidth {
  std::vector<CommBandwidth> comms;
  double shared = 0;
};

// bandwidth_of returns the bandwidths by place in JobTimeline::ranks. It leaves out communications
// that carry no data, or whose name or size is unknown (join_trace.h fills these in). Where a
// length is 0 so is the bandwidth.
std::vector<RankBandwidth> bandwidth_of(const JobTimeline& job,
                                        const std::vector<JobCollective>& collectives);

// rounded returns a figure as printf shows it with so many decimals.
double rounded(double figure, int decimals);

}  // namespace simmesh::replay
