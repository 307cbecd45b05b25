#include "replay/analysis/intervals.h"

#include <algorithm>

namespace simmesh::replay {

Intervals union_of(std::vector<Interval> stretches) {
  std::sort(stretches.begin(), stretches.end(),
            [](const Interval& a, const Interval& b) { return a.begin_us < b.begin_us; });
  Intervals set;
  for (const Interval& stretch : stretches) {
    if (stretch.end_us <= stretch.begin_us) continue;
    if (set.empty() || stretch.begin_us > set.back().end_us)
      set.push_back(stretch);
    else
      set.back().end_us = std::max(set.back().end_us, stretch.end_us);
  }
  return set;
}

Intervals intersection_of(const Intervals& first, const Intervals& second) {
  Intervals both;
  for (auto a = first.begin(), b = second.begin(); a != first.end() && b != second.end();) {
    Interval shared{std::max(a->begin_us, b->begin_us), std::min(a->end_us, b->end_us)};
    if (shared.begin_us < shared.end_us) both.push_back(shared);
    if (a->end_us < b->end_us)
      ++a;
    else
      ++b;
  }
  return both;
}

Intervals difference_of(const Intervals& first, const Intervals& second) {
  Intervals rest;
  auto taken = second.begin();
  for (Interval stretch : first) {
    while (taken != second.end() && taken->end_us <= stretch.begin_us) ++taken;
    for (auto next = taken; next != second.end() && next->begin_us < stretch.end_us; ++next) {
      if (next->begin_us > stretch.begin_us) rest.push_back({stretch.begin_us, next->begin_us});
      stretch.begin_us = std::max(stretch.begin_us, next->end_us);
    }
    if (stretch.begin_us < stretch.end_us) rest.push_back(stretch);
  }
  return rest;
}

Intervals clip(const Intervals& set, const Interval& stretch) {
  if (stretch.end_us <= stretch.begin_us) return {};
  auto first = std::upper_bound(
      set.begin(), set.end(), stretch.begin_us,
      [](double time, const Interval& interval) { return time < interval.end_us; });
  Intervals part;
  for (; first != set.end() && first->begin_us < stretch.end_us; ++first)
    part.push_back(
        {std::max(first->begin_us, stretch.begin_us), std::min(first->end_us, stretch.end_us)});
  return part;
}

double length_us(const Intervals& set) {
  double sum = 0;
  for (const Interval& interval : set) sum += interval.length_us();
  return sum;
}

Intervals union_of(const RankTimeline& rank,
                   const std::function<bool(const TimelineSpan&)>& wanted) {
  std::vector<Interval> stretches;
  for (const TimelineSpan& span : rank.spans)
    if (wanted(span)) stretches.push_back({span.begin_us, span.end_us});
  return union_of(std::move(stretches));
}

}  // namespace simmesh::replay
