#pragma once

#include <gsl/span>
#include <string>

#include "replay/read/byte_source.h"
#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// read_timelines reads the output of PyTorch's profiler for the ranks of a job (Kineto's JSON):
// files, plain or compressed, folders and archives. Files of other forms are skipped. Ranks come
// from "distributedInfo", else from the names of the files, else they count in the order of the
// files. The origin is the first event of all. Memory: the events that a timeline has, and a window
// of the text. Raises a BadTrace for text that isn't JSON (rule "json"), without a list
// "traceEvents" ("top_level"), and for an event without name, time or length
// ("event"); a ValueError for paths that don't exist, where there is no timeline, and where two
// files are of one rank.
//
//   std::vector<std::string> paths = {"dlrm_kineto.tar.gz"};
//   replay::JobTimeline job = replay::read_timelines(paths);
JobTimeline read_timelines(gsl::span<const std::string> paths);

// read_timeline reads one file.
JobTimeline read_timeline(ByteSource& source);

}  // namespace simmesh::replay
