#include "replay/analysis/intervals.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <random>

namespace simmesh::replay {

namespace {

constexpr int moments = 24;
using Covered = std::array<bool, moments>;

Covered covered_by(const std::vector<Interval>& stretches) {
  Covered covered{};
  for (int moment = 0; moment < moments; ++moment)
    for (const Interval& stretch : stretches)
      covered[moment] |= stretch.begin_us <= moment && moment < stretch.end_us;
  return covered;
}

void expect_set_of(const Intervals& set, const Covered& expected) {
  EXPECT_EQ(covered_by(set), expected);
  EXPECT_EQ(length_us(set), double(std::count(expected.begin(), expected.end(), true)));
  for (const Interval& interval : set) EXPECT_LT(interval.begin_us, interval.end_us);
  for (std::size_t i = 1; i < set.size(); ++i) EXPECT_LT(set[i - 1].end_us, set[i].begin_us);
}

template <class Choice>
Covered combine(const Covered& a, const Covered& b, Choice choice) {
  Covered result{};
  for (int moment = 0; moment < moments; ++moment) result[moment] = choice(a[moment], b[moment]);
  return result;
}

// Would fail if a set differed from what marking each moment by hand gives, or weren't in order.
TEST(ReplayIntervals, AreWhatMarkingEachMomentGives) {
  std::mt19937 random(5);
  auto pick = [&](int below) { return int(random() % unsigned(below)); };
  for (int round = 0; round < 20'000; ++round) {
    std::array<std::vector<Interval>, 2> stretches;
    for (std::vector<Interval>& some : stretches)
      for (int count = pick(7); count > 0; --count) {
        int begin = pick(moments);
        some.push_back({double(begin), double(begin + pick(moments - begin + 1))});
      }
    Intervals first = union_of(stretches[0]), second = union_of(stretches[1]);
    Covered a = covered_by(stretches[0]), b = covered_by(stretches[1]);
    expect_set_of(first, a);
    expect_set_of(second, b);
    expect_set_of(intersection_of(first, second),
                  combine(a, b, [](bool x, bool y) { return x && y; }));
    expect_set_of(difference_of(first, second),
                  combine(a, b, [](bool x, bool y) { return x && !y; }));
    Interval window{double(pick(moments)), double(pick(moments))};
    expect_set_of(clip(first, window),
                  combine(a, covered_by({window}), [](bool x, bool y) { return x && y; }));
    if (HasFailure()) FAIL() << "round " << round;
  }
}

// Would fail if spans that nobody asked for counted, or if ones that overlap counted twice.
TEST(ReplayIntervals, OfSpansTakeTheWantedOnes) {
  RankTimeline rank;
  for (auto [begin, end, kind] :
       {std::tuple(0.0, 4.0, SpanKind::compute), std::tuple(2.0, 6.0, SpanKind::compute),
        std::tuple(5.0, 9.0, SpanKind::copy)})
    rank.spans.push_back({.begin_us = begin, .end_us = end, .kind = kind});
  Intervals compute =
      union_of(rank, [](const TimelineSpan& span) { return span.kind == SpanKind::compute; });
  EXPECT_EQ(compute, (Intervals{{0, 6}}));
}

}  // namespace

}  // namespace simmesh::replay
