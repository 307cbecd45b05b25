#include "replay/analysis/skew.h"

#include <algorithm>

namespace simmesh::replay {

namespace {

CollectiveSkew skew_of(const JobTimeline& job, const JobCollective& collective) {
  CollectiveSkew skew;
  const TimelineSpan& any = span_of(job, collective.parts.front());
  double first_begin = any.begin_us, first_end = any.end_us, last_end = any.end_us;
  skew.shortest_us = any.length_us();
  for (const CommPart& part : collective.parts) {
    const TimelineSpan& span = span_of(job, part);
    first_begin = std::min(first_begin, span.begin_us);
    first_end = std::min(first_end, span.end_us);
    last_end = std::max(last_end, span.end_us);
    skew.shortest_us = std::min(skew.shortest_us, span.length_us());
  }
  for (const CommPart& part : collective.parts) {
    const TimelineSpan& span = span_of(job, part);
    skew.parts.push_back({.part = part,
                          .start_us = span.begin_us - first_begin,
                          .length_us = span.length_us(),
                          .wait_us = span.length_us() - skew.shortest_us});
  }
  const CommPart& last = last_part(job, collective);
  skew.last_rank = job.ranks[last.rank].rank;
  skew.start_spread_us = span_of(job, last).begin_us - first_begin;
  skew.end_spread_us = last_end - first_end;
  return skew;
}

}  // namespace

JobSkew skew_of(const JobTimeline& job, const std::vector<JobCollective>& collectives) {
  JobSkew skew;
  skew.times_last.resize(job.ranks.size());
  skew.caused_wait_us.resize(job.ranks.size());
  for (const JobCollective& collective : collectives) {
    CollectiveSkew one = skew_of(job, collective);
    std::uint32_t last = last_part(job, collective).rank;
    ++skew.times_last[last];
    for (const PartSkew& part : one.parts) {
      skew.comm_us += part.length_us;
      skew.wait_us += part.wait_us;
      skew.caused_wait_us[last] += part.wait_us;
    }
    skew.collectives.push_back(std::move(one));
  }
  return skew;
}

}  // namespace simmesh::replay
