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

namespace {

// sorted_order returns the old places of entries by their begin and end.
template <class Entries, class Times>
std::vector<std::uint32_t> sorted_order(const Entries& entries, Times times) {
  std::vector<std::uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return times(entries[a]) < times(entries[b]);
  });
  return order;
}

// reorder puts entries into an order of old places, and returns the new place of each old one.
template <class Entries>
std::vector<std::uint32_t> reorder(Entries& entries, const std::vector<std::uint32_t>& order) {
  Entries sorted;
  sorted.reserve(order.size());
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t old : order) {
    places[old] = std::uint32_t(sorted.size());
    sorted.push_back(std::move(entries[old]));
  }
  entries = std::move(sorted);
  return places;
}

}  // namespace

void sort_spans(RankTimeline& rank) {
  auto times = [](const TimelineSpan& span) { return std::pair(span.begin_us, span.end_us); };
  std::vector<std::uint32_t> spans = reorder(rank.spans, sorted_order(rank.spans, times));
  for (TimelineSpan& span : rank.spans)
    if (span.launched_by) span.launched_by = spans[*span.launched_by];
  for (TimelineComm& comm : rank.comms) comm.span = spans[comm.span];
  std::vector<std::uint32_t> comms = reorder(
      rank.comms, sorted_order(rank.comms, [](const TimelineComm& comm) { return comm.span; }));
  for (TimelineSpan& span : rank.spans)
    if (span.comm) span.comm = comms[*span.comm];
}

}  // namespace simmesh::replay
