#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/trace/finding.h"
#include "replay/trace/text_pool.h"

namespace simmesh::replay {

// SpanKind is the activity of a device or its host in a span of time. An annotation is a range that
// the program named; a host span is an operator or a call of the runtime on a thread.
enum class SpanKind : std::uint8_t { compute, communication, copy, annotation, host };
std::string_view to_string(SpanKind kind);

// TimelineSpan is one activity that took time, on one track of a rank.
struct TimelineSpan {
  double begin_us = 0;  // since the origin of the job's timeline
  double end_us = 0;
  TextId name = {};  // in RankTimeline::texts
  SpanKind kind = SpanKind::compute;
  std::uint32_t track = 0;                 // in RankTimeline::tracks
  std::int64_t bytes = 0;                  // that are copied or communicated; 0 where unknown
  std::optional<std::uint32_t> comm = {};  // in RankTimeline::comms
  std::optional<std::uint32_t> launched_by = {};  // the host span that launched this one
  // For a host span: the ids that join it with an execution trace; 0 and -1 where they aren't
  // recorded.
  std::int64_t record_function = 0;  // TraceNode::record_function
  std::int64_t external_id = 0;
  std::int64_t event_index = -1;

  double length_us() const { return end_us - begin_us; }
  // True if the device does it: compute, communication or a copy.
  bool is_of_device() const { return kind < SpanKind::annotation; }
};

// TimelineComm is what is known about the collective or message of a communication span.
struct TimelineComm {
  std::uint32_t span = 0;
  std::string name = {};                    // "allreduce", as TraceComm::name; empty where unknown
  std::optional<std::uint32_t> group = {};  // in JobTimeline::groups; nullopt where unknown
  std::int64_t group_size = 0;              // 0 where unknown
  // The rank within the group to which a message goes or from which it comes; -1 for all others.
  std::int64_t peer = -1;
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::int64_t item_bytes = 0;  // 0 where unknown
  // Elements for and from each member; empty: equal parts.
  std::vector<std::int64_t> in_split = {};
  std::vector<std::int64_t> out_split = {};
  // The time at which the program issued it; nullopt where unknown.
  std::optional<double> issued_us = {};
  // Equal on all ranks that take part, and on no other communication; empty where unknown.
  std::string comms_id = {};
};

// TimelineGroup is a process group of the job: the global ranks of its members, in its order.
struct TimelineGroup {
  std::string name;
  std::vector<std::int64_t> members;
};

// TimelineTrack is a sequence of spans: a stream of a device, or a thread. Spans of a thread
// contain those that they call.
struct TimelineTrack {
  std::string name;  // "stream 84"
  bool is_device = true;
};

// TimelineStep is a training step as the program marked it: "ProfilerStep#10".
struct TimelineStep {
  std::string name;
  double begin_us = 0;
  double end_us = 0;

  double length_us() const { return end_us - begin_us; }
};

// RankTimeline is the activities of one rank and their times. Spans and comms are sorted by their
// begin.
struct RankTimeline {
  std::int64_t rank = 0;
  std::string file;  // empty where it was simulated
  std::vector<TimelineTrack> tracks;
  std::vector<TimelineSpan> spans;
  std::vector<TimelineComm> comms;
  std::vector<TimelineStep> steps;
  TextPool texts;
  std::size_t events = 0;  // of every sort, in the file
  // Events with a time whose category no part of a report knows, by category.
  std::map<std::string, std::size_t> other_categories;

  std::string_view text(TextId id) const { return texts[id]; }
  const TimelineSpan& span_of(const TimelineComm& comm) const { return spans[comm.span]; }
};

// JobTimeline is the timelines of the ranks of one job, by rank: read from the output of PyTorch's
// profiler (read_timeline.h), or simulated. All ranks have one origin; clocks of different hosts
// may still differ.
//
//   JobTimeline job = read_timelines({"dlrm_kineto.tar.gz"});
//   for (const RankTimeline& rank : job.ranks)
//     for (const TimelineComm& comm : rank.comms) rank.span_of(comm).length_us() ...
struct JobTimeline {
  std::vector<RankTimeline> ranks;
  std::vector<TimelineGroup> groups;
  std::int64_t world_size = 0;
  std::int64_t origin_ns = 0;  // since 1970; 0 where it was simulated
  Findings findings;           // of files that are read although something in them is wrong

  const RankTimeline* find(std::int64_t rank) const;
};

// sort_spans sorts the spans and the comms of a rank by begin, then by end, and updates the
// references to them: call it after filling a timeline in any order.
void sort_spans(RankTimeline& rank);

}  // namespace simmesh::replay
