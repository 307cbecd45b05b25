#pragma once

#include <functional>
#include <vector>

#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// Interval is a stretch of time from begin_us to end_us.
struct Interval {
  double begin_us = 0;
  double end_us = 0;

  double length_us() const { return end_us - begin_us; }
  bool operator==(const Interval&) const = default;
};

// Intervals are stretches of time in ascending order, of which no two touch and none is empty: a
// set of moments. The functions below take and return such sets.
using Intervals = std::vector<Interval>;

// union_of returns the moments that any of the stretches covers; these may come in any order,
// overlap and be empty.
Intervals union_of(std::vector<Interval> stretches);

// intersection_of returns the moments in both sets, difference_of those in the first alone.
Intervals intersection_of(const Intervals& first, const Intervals& second);
Intervals difference_of(const Intervals& first, const Intervals& second);

// clip returns the part of a set in a stretch.
Intervals clip(const Intervals& set, const Interval& stretch);

// length_us adds up the lengths.
double length_us(const Intervals& set);

// union_of the spans of a rank that `wanted` names.
Intervals union_of(const RankTimeline& rank,
                   const std::function<bool(const TimelineSpan&)>& wanted);

}  // namespace simmesh::replay
