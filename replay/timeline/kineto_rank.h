#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/read/byte_source.h"
#include "replay/read/json_repair.h"
#include "replay/timeline/kineto_comm.h"
#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// KinetoRank is one file of PyTorch's profiler as it was read, before the times of all ranks have a
// common origin and before kernels are joined with the calls that launched them.
struct KinetoRank {
  RankTimeline timeline;  // without times, comms and steps
  struct Times {
    std::int64_t begin_ns = 0;  // since 1970
    std::int64_t end_ns = 0;
  };
  std::vector<Times> times;  // by span
  // The host's calls by correlation, and the correlation of each span of the device that has one.
  std::unordered_map<std::int64_t, std::uint32_t> calls;
  std::unordered_map<std::uint32_t, std::int64_t> correlations;
  std::unordered_map<std::uint32_t, KinetoComm> comms;      // by span, of kernels and of the host
  std::optional<std::int64_t> rank;                         // in the file
  std::int64_t world_size = 0;                              // 0 where the file lacks it
  JsonRepairs repairs;                                      // of the text
  std::int64_t unfinished = 0;                              // events that never ended
  std::map<std::string, std::vector<std::int64_t>> groups;  // members by name; empty: all ranks
  // The groups of the communications, once these are known (link_launches.h), by the rank's names.
  std::vector<TimelineGroup> own_groups;
};

// read_kineto_rank reads the list "traceEvents" and the fields beside it, or a list of events
// alone, as Chrome and older profilers write it. Memory: the events that a timeline has, and a
// window of the text. Raises a BadTrace for text that isn't JSON (rule "json"), without the list
// ("top_level"), and for an event without name, time or length ("event").
KinetoRank read_kineto_rank(ByteSource& source);

// is_collective_kernel is true for a kernel of NCCL: "ncclKernel_..." up to version 2.18,
// "ncclDevKernel_..." since.
bool is_collective_kernel(std::string_view name);

}  // namespace simmesh::replay
