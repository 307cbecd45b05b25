#pragma once

#include <gsl/span>
#include <string>

#include "replay/job/trace_job.h"

namespace simmesh::replay {

// add_graphs adds Chakra's graphs to a job as execution traces (from_chakra.h): files, folders and
// archives of them, as protobuf or JSON. Ranks come from the names of the files; where one has none
// they count in the order of the files. Findings are about a graph that can't be read or put in
// order, and about a second one of a rank, which is left out ("rank_twice").
//
//   std::vector<std::string> paths = {"graphs"};
//   replay::TraceJob job = replay::read_job(paths);
//   replay::add_graphs(paths, job);
void add_graphs(gsl::span<const std::string> paths, TraceJob& job);

}  // namespace simmesh::replay
