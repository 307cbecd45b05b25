#include "replay/timeline/timeline.h"

#include <algorithm>
#include <numeric>

namespace simmesh::replay {

std::string_view to_string(SpanKind kind) {
  switch (kind) {
    case SpanKind::compute: return "compute";
    case SpanKind::communication: return "communication";
    case SpanKind::copy: return "copy";
    case SpanKind::annotation: return "annotation";
    case SpanKind::host: return "host";
  }
  return "";
}

const RankTimeline* JobTimeline::find(std::int64_t rank) const {
  auto found =
      std::lower_bound(ranks.begin(), ranks.end(), rank,
                       [](const RankTimeline& one, std::int64_t key) { return one.rank < key; });
  return found != ranks.end() && found->rank == rank ? &*found : nullptr;
}

void sort_spans(RankTimeline& rank) {
  std::vector<std::uint32_t> order(rank.spans.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const TimelineSpan &first = rank.spans[a], &second = rank.spans[b];
    return std::pair(first.begin_us, first.end_us) < std::pair(second.begin_us, second.end_us);
  });
  std::vector<TimelineSpan> sorted;
  sorted.reserve(order.size());
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t old : order) {
    places[old] = std::uint32_t(sorted.size());
    sorted.push_back(rank.spans[old]);
  }
  for (TimelineSpan& span : sorted)
    if (span.launched_by) span.launched_by = places[*span.launched_by];
  for (TimelineComm& comm : rank.comms) comm.span = places[comm.span];
  rank.spans = std::move(sorted);
}

}  // namespace simmesh::replay
