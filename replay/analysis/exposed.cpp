#include "replay/analysis/exposed.h"

namespace simmesh::replay {

DeviceMoments device_moments(const RankTimeline& rank) {
  auto of_kind = [&](SpanKind kind) {
    return union_of(rank, [=](const TimelineSpan& span) { return span.kind == kind; });
  };
  return {.comm = union_of(rank, [](const TimelineSpan& span) { return span.comm.has_value(); }),
          .compute = of_kind(SpanKind::compute),
          .copy = of_kind(SpanKind::copy),
          .any = union_of(rank, [](const TimelineSpan& span) { return span.is_of_device(); })};
}

RankBusy busy_of(const DeviceMoments& moments, const Interval& stretch) {
  Intervals comm = clip(moments.comm, stretch), compute = clip(moments.compute, stretch);
  return {.comm_us = length_us(comm),
          .compute_us = length_us(compute),
          .copy_us = length_us(clip(moments.copy, stretch)),
          .exposed_us = length_us(difference_of(comm, compute)),
          .overlapped_us = length_us(intersection_of(comm, compute)),
          .idle_us = stretch.length_us() - length_us(clip(moments.any, stretch))};
}

RankBusy busy_of(const RankTimeline& rank) {
  DeviceMoments moments = device_moments(rank);
  if (moments.any.empty()) return {};
  return busy_of(moments, {moments.any.front().begin_us, moments.any.back().end_us});
}

std::vector<double> exposed_parts(const RankTimeline& rank) {
  Intervals compute =
      union_of(rank, [](const TimelineSpan& span) { return span.kind == SpanKind::compute; });
  std::vector<double> exposed;
  exposed.reserve(rank.comms.size());
  for (const TimelineComm& comm : rank.comms) {
    const TimelineSpan& span = rank.span_of(comm);
    double hidden = length_us(clip(compute, {span.begin_us, span.end_us}));
    exposed.push_back(span.length_us() - hidden);
  }
  return exposed;
}

}  // namespace simmesh::replay
