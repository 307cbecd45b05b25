#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/analysis/bandwidth.h"

namespace simmesh::replay {

// Spread describes the distribution of a list of figures. pN is the figure below which N percent of
// them are, interpolated linearly between neighbours, as numpy.percentile does.
struct Spread {
  double mean = 0;
  double p1 = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
};

// spread_of returns zeros for an empty list.
Spread spread_of(std::vector<double> figures);

// CommRow is the communications of a job that share kernel, name, size and group size.
struct CommRow {
  std::string kernel;
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t group_size = 0;
  std::size_t groups = 0;  // distinct ones that are known
  std::size_t count = 0;   // of communications on all ranks
  Spread length_us;
  Spread busbw;
  // On all ranks, beyond the shortest of each collective; nullopt where parts are missing.
  std::optional<double> wait_us;
  double total_us = 0;  // on all ranks
};

// comm_table returns the rows by name, bytes, group size and kernel. Communications of unknown size
// are included, with busbw 0.
std::vector<CommRow> comm_table(const JobTimeline& job,
                                const std::vector<JobCollective>& collectives);

}  // namespace simmesh::replay
