#include "replay/report/timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void add_span(RankTimeline& rank, SpanKind kind, Interval time, const std::string& name) {
  rank.spans.push_back({.begin_us = time.begin_us,
                        .end_us = time.end_us,
                        .name = rank.texts.id_of(name),
                        .kind = kind});
  if (kind != SpanKind::communication) return;
  rank.spans.back().comm = std::uint32_t(rank.comms.size());
  rank.comms.push_back({.span = std::uint32_t(rank.spans.size() - 1), .name = name});
}

// Rank 0 computes from 0 to 10 and waits for rank 1 from 10 to 60; both move bytes from 60 to 100.
ReportedTimes two_ranks() {
  ReportedTimes times;
  times.timeline.ranks.resize(2);
  times.timeline.world_size = 2;
  times.timeline.ranks[1].rank = 1;
  for (RankTimeline& rank : times.timeline.ranks) rank.tracks.push_back({.name = "stream 7"});
  add_span(times.timeline.ranks[0], SpanKind::compute, {0, 10}, "gemm");
  add_span(times.timeline.ranks[0], SpanKind::communication, {10, 100}, "<allreduce>");
  add_span(times.timeline.ranks[1], SpanKind::copy, {0, 60}, "copy");
  add_span(times.timeline.ranks[1], SpanKind::communication, {60, 100}, "<allreduce>");
  times.collectives = job_collectives(times.timeline);
  times.skew = skew_of(times.timeline, times.collectives);
  return times;
}

TEST(TimelineSvg, WaitingAndMovingHaveColoursOfTheirOwn) {
  std::string svg = timeline_svg(two_ranks());
  EXPECT_EQ(count_of(svg, "class=\"waiting\""), 1u);
  EXPECT_EQ(count_of(svg, "class=\"moving\""), 2u);
  EXPECT_EQ(count_of(svg, "class=\"compute\""), 1u);
  EXPECT_EQ(count_of(svg, "class=\"copy\""), 1u);
  EXPECT_THAT(svg, HasSubstr("&lt;allreduce&gt;: waits 50.0 us, moves 40.0 us; rank 1 came last"));
  EXPECT_THAT(svg, Not(HasSubstr("<allreduce>")));
  // The wait of 50 us is half of the width of 1100 pixels.
  EXPECT_THAT(svg, HasSubstr("class=\"waiting\" x=\"180.00\" y=\"22.00\" width=\"550.00\""));
}

TEST(TimelineSvg, DrawsManySpansWithFewShapes) {
  ReportedTimes times = two_ranks();
  RankTimeline& rank = times.timeline.ranks[0];
  for (int i = 0; i < 100'000; ++i)
    add_span(rank, SpanKind::compute, {100 + i * 0.01, 100 + i * 0.01 + 0.005}, "k");
  std::string svg = timeline_svg(times);
  EXPECT_LE(count_of(svg, "<rect"), 4500u);
}

TEST(TimelineSvg, AJobWithoutSpansHasARowForEachRank) {
  ReportedTimes times;
  times.timeline.ranks.resize(100);
  std::string svg = timeline_svg(times);
  EXPECT_EQ(count_of(svg, "class=\"rank\""), 64u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace simmesh::replay
