#include "replay/analysis/comm_overlap.h"

#include <algorithm>

#include "replay/analysis/exposed.h"

namespace simmesh::replay {

namespace {

// add_pairs finds communications that overlap one another; comms are sorted by begin.
void add_pairs(const RankTimeline& rank, std::vector<CommOverlap>& overlaps) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t c = 0; c < rank.comms.size(); ++c) {
    const TimelineSpan& span = rank.span_of(rank.comms[c]);
    std::erase_if(open, [&](std::uint32_t other) {
      return rank.span_of(rank.comms[other]).end_us <= span.begin_us;
    });
    if (span.end_us <= span.begin_us) continue;
    for (std::uint32_t other : open) {
      overlaps[other].comms.push_back(c);
      overlaps[c].comms.push_back(other);
    }
    open.push_back(c);
  }
}

}  // namespace

std::vector<CommOverlap> comm_overlaps(const RankTimeline& rank) {
  DeviceMoments moments = device_moments(rank);
  std::vector<CommOverlap> overlaps(rank.comms.size());
  add_pairs(rank, overlaps);
  for (std::size_t c = 0; c < overlaps.size(); ++c) {
    const TimelineSpan& span = rank.span_of(rank.comms[c]);
    CommOverlap& overlap = overlaps[c];
    Interval whole{span.begin_us, span.end_us};
    std::vector<Interval> others;
    for (std::uint32_t other : overlap.comms) {
      const TimelineSpan& beside = rank.span_of(rank.comms[other]);
      others.push_back({beside.begin_us, beside.end_us});
    }
    overlap.length_us = span.length_us();
    overlap.with_compute_us = length_us(clip(moments.compute, whole));
    overlap.with_copies_us = length_us(clip(moments.copy, whole));
    overlap.with_comms_us = length_us(clip(union_of(std::move(others)), whole));
  }
  return overlaps;
}

}  // namespace simmesh::replay
