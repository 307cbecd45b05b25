#include "replay/timeline/timeline.h"

#include <gtest/gtest.h>

namespace simmesh::replay {

namespace {

TimelineSpan named_span(RankTimeline& rank, double begin, double end, std::string_view name) {
  return {.begin_us = begin, .end_us = end, .name = rank.texts.id_of(name)};
}

// Would fail if sorting left a launch or a communication with the old place of its span.
TEST(ReplayTimeline, SortingKeepsWhatRefersToSpans) {
  RankTimeline rank;
  rank.spans = {named_span(rank, 5, 6, "late"), named_span(rank, 1, 3, "longer"),
                named_span(rank, 1, 2, "shorter")};
  rank.spans[0].launched_by = 2;
  rank.spans[0].comm = 0;
  rank.spans[1].comm = 1;
  rank.comms = {{.span = 0, .name = "allreduce"}, {.span = 1, .name = "broadcast"}};
  sort_spans(rank);
  std::vector<std::string_view> names;
  for (const TimelineSpan& span : rank.spans) names.push_back(rank.text(span.name));
  EXPECT_EQ(names, (std::vector<std::string_view>{"shorter", "longer", "late"}));
  EXPECT_EQ(rank.spans[2].launched_by, 0u);
  EXPECT_EQ(rank.comms[0].name, "broadcast");
  EXPECT_EQ(rank.text(rank.span_of(rank.comms[0]).name), "longer");
  EXPECT_EQ(rank.text(rank.span_of(rank.comms[1]).name), "late");
  EXPECT_EQ(rank.span_of(rank.comms[1]).length_us(), 1);
  EXPECT_EQ(rank.spans[1].comm, 0u);
  EXPECT_EQ(rank.spans[2].comm, 1u);
}

// Would fail if a rank were used as the place of its timeline.
TEST(ReplayTimeline, FindsARankByItsNumber) {
  JobTimeline job;
  for (std::int64_t rank : {1, 4}) {
    job.ranks.emplace_back();
    job.ranks.back().rank = rank;
  }
  EXPECT_EQ(job.find(4), &job.ranks[1]);
  EXPECT_EQ(job.find(0), nullptr);
  EXPECT_EQ(job.find(2), nullptr);
  EXPECT_EQ(job.find(5), nullptr);
}

TEST(ReplayTimeline, NamesItsKinds) {
  EXPECT_EQ(to_string(SpanKind::communication), "communication");
  EXPECT_EQ(to_string(SpanKind::host), "host");
}

}  // namespace

}  // namespace simmesh::replay
