#include "replay/analysis/skew.h"

#include <algorithm>

namespace simmesh::replay {

namespace {

CollectiveSkew skew_of(const JobTimeline& job, const JobCollective& collective) {
  CollectiveSkew skew{.members = collective.members};
  const TimelineSpan& any = span_of(job, collective.parts.front());
  double first_begin = any.begin_us, first_end = any.end_us;
  double last_begin = any.begin_us, last_end = any.end_us, shortest = any.length_us();
  for (const CommPart& part : collective.parts) {
    const TimelineSpan& span = span_of(job, part);
    first_begin = std::min(first_begin, span.begin_us);
    last_begin = std::max(last_begin, span.begin_us);
    first_end = std::min(first_end, span.end_us);
    last_end = std::max(last_end, span.end_us);
    shortest = std::min(shortest, span.length_us());
  }
  for (const CommPart& part : collective.parts) {
    const TimelineSpan& span = span_of(job, part);
    skew.parts.push_back(
        {.part = part, .start_us = span.begin_us - first_begin, .length_us = span.length_us()});
    if (collective.is_complete()) skew.parts.back().wait_us = span.length_us() - shortest;
  }
  if (collective.is_complete()) skew.shortest_us = shortest;
  if (std::optional<CommPart> last = last_part(job, collective))
    skew.last_rank = job.ranks[last->rank].rank;
  skew.start_spread_us = last_begin - first_begin;
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
    std::optional<CommPart> last = last_part(job, collective);
    if (last) ++skew.times_last[last->rank];
    skew.waits_unknown += !collective.is_complete();
    skew.lasts_unknown += !last;
    for (const PartSkew& part : one.parts) {
      skew.comm_us += part.length_us;
      if (!part.wait_us) continue;
      skew.comm_known_us += part.length_us;
      skew.wait_us += *part.wait_us;
      if (last) skew.caused_wait_us[last->rank] += *part.wait_us;
    }
    skew.collectives.push_back(std::move(one));
  }
  return skew;
}

}  // namespace simmesh::replay
