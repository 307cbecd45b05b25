#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/timeline/read_timeline.h"
#include "replay/timeline/timeline.h"

namespace simmesh::testing {

// HandSpan is a span of a timeline that a test writes down.
struct HandSpan {
  double begin_us = 0;
  double end_us = 0;
  replay::SpanKind kind = replay::SpanKind::compute;
  std::string name = {};                    // of a communication: "allreduce"
  std::optional<std::uint32_t> group = {};  // of a communication
  std::optional<double> issued_us = {};     // of a communication
  std::uint32_t track = 0;
};

inline HandSpan compute(double begin, double end) { return {.begin_us = begin, .end_us = end}; }

inline HandSpan comm(double begin, double end, std::optional<std::uint32_t> group = std::nullopt,
                     std::optional<double> issued = std::nullopt) {
  return {.begin_us = begin,
          .end_us = end,
          .kind = replay::SpanKind::communication,
          .name = "allreduce",
          .group = group,
          .issued_us = issued,
          .track = 1};
}

inline replay::RankTimeline hand_rank(std::int64_t number, const std::vector<HandSpan>& spans) {
  replay::RankTimeline rank;
  rank.rank = number;
  rank.tracks = {{"stream 7"}, {"stream 84"}};
  for (const HandSpan& span : spans) {
    rank.spans.push_back({.begin_us = span.begin_us,
                          .end_us = span.end_us,
                          .name = rank.texts.id_of("kernel(int)"),
                          .kind = span.kind,
                          .track = span.track});
    if (span.kind != replay::SpanKind::communication) continue;
    rank.spans.back().comm = std::uint32_t(rank.comms.size());
    rank.comms.push_back({.span = std::uint32_t(rank.spans.size() - 1),
                          .name = span.name,
                          .group = span.group,
                          .issued_us = span.issued_us});
  }
  replay::sort_spans(rank);
  return rank;
}

// hand_job returns the timelines of ranks 0, 1, ... Groups are those that the spans name, all with
// all ranks as members.
inline replay::JobTimeline hand_job(const std::vector<std::vector<HandSpan>>& ranks,
                                    std::size_t groups = 0) {
  replay::JobTimeline job;
  job.world_size = std::int64_t(ranks.size());
  for (const std::vector<HandSpan>& spans : ranks)
    job.ranks.push_back(hand_rank(std::int64_t(job.ranks.size()), spans));
  for (std::size_t i = 0; i < groups; ++i) {
    job.groups.push_back({std::to_string(i), {}});
    for (std::int64_t rank = 0; rank < job.world_size; ++rank)
      job.groups.back().members.push_back(rank);
  }
  return job;
}

// dlrm_timeline returns the timelines of the published 8 ranks of a DLRM.
inline const replay::JobTimeline& dlrm_timeline() {
  static const replay::JobTimeline job = [] {
    std::vector<std::string> paths = {SIMMESH_SOURCE_DIR "/tests/cases/replay/dlrm_kineto.tar.gz"};
    return replay::read_timelines(paths);
  }();
  return job;
}

}  // namespace simmesh::testing
