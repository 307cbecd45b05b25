#include "pipeline/analysis/schedule_report.h"

#include <gmock/gmock.h>

namespace simmesh::pipeline {
namespace {

using ::testing::HasSubstr;

// If this fails, a report gives the figures of another rank, or of no schedule at all.
TEST(PipelineScheduleReport, MeasuresEachRank) {
  ScheduleReport report = report_schedule(ScheduleClass::zbv_zero_bubble, {2, 2, 4});
  ASSERT_EQ(report.ranks.size(), 2u);
  EXPECT_EQ(report.ranks[0].stages, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(report.ranks[1].peak_activations, 4);
  EXPECT_EQ(report.ranks[0].idle, report.spaced.idle_of(0));
  EXPECT_EQ(report.spaced.end, 24 + report.ranks[0].idle);
  EXPECT_EQ(report.title(), "ZBVZeroBubble: 2 ranks, 2 stages a rank, 4 micro-batches");
}

TEST(PipelineScheduleReport, IsPrintedInParts) {
  ScheduleReport report = report_schedule(ScheduleClass::looped_bfs, {1, 1, 1});
  EXPECT_EQ(to_text(report),
            "LoopedBFS: 1 rank, 1 stage a rank, 1 micro-batch\n"
            "rank 0: stages 0; peak activations 1; idle 0 of 3\n"
            "  0F0,0B0\n"
            "bubble: 0.0 % of 3 time units\n");
  EXPECT_EQ(to_text(report, {.is_quiet = true}), "bubble: 0.0 % of 3 time units\n");
  EXPECT_THAT(to_text(report, {.shows_actions = true}),
              HasSubstr("  0UNSHARD,0F0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0RESHARD\n"));
}

}  // namespace
}  // namespace simmesh::pipeline
