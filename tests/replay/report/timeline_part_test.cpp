#include "replay/report/timeline_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

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
  add_span(times.timeline.ranks[0], SpanKind::communication, {10, 100}, "allreduce");
  add_span(times.timeline.ranks[1], SpanKind::copy, {0, 60}, "copy");
  add_span(times.timeline.ranks[1], SpanKind::communication, {60, 100}, "allreduce");
  times.collectives = job_collectives(times.timeline);
  times.skew = skew_of(times.timeline, times.collectives);
  return times;
}

// A wait and what is moved after it must not look like one.
TEST(TimelinePart, WaitingAndMovingAreApart) {
  std::string json = timeline_part(two_ranks()).text();
  EXPECT_THAT(json, HasSubstr(R"(["allreduce waits for rank 1"])"));
  EXPECT_THAT(json, HasSubstr(R"(["allreduce moves bytes"])"));
  // In thousandths of a microsecond: the wait of 50 us and the 40 us after it.
  EXPECT_THAT(json, HasSubstr(R"([0,50000,0,0,40000,1])"));
  EXPECT_THAT(json, HasSubstr(R"({"rank":0,"begin":10000,"spans":0,"name":"communication"})"));
  EXPECT_THAT(json, HasSubstr(R"("name":"computing")"));
  EXPECT_THAT(json, HasSubstr(R"("name":"copying")"));
}

TEST(TimelinePart, AJobWithoutSpansHasNoTracks) {
  ReportedTimes times;
  times.timeline.ranks.resize(100);
  EXPECT_THAT(timeline_part(times).text(), HasSubstr(R"("tracks":[])"));
}

}  // namespace
}  // namespace simmesh::replay
