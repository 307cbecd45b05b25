#include "replay/run/job_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/replay/analysis/hand_timeline.h"
#include "tests/replay/run/hand_job.h"

namespace simmesh::replay {

namespace {

using simmesh::testing::comm;
using simmesh::testing::hand_job;
using ::testing::ElementsAre;

// Two all-reduces, the first of which runs beside an operator until it is waited for.
ReplayProgram overlapped_program(std::int64_t ranks) {
  samples::HandJob job(ranks);
  std::vector<samples::HandTensor> a = {{.storage = 1, .elements = 1000}};
  std::vector<samples::HandTensor> b = {{.storage = 2, .elements = 1000}};
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    job.comm(rank, {.name = "allreduce", .request = 1, .inputs = a, .outputs = a});
    job.op(rank, "aten::relu", b, b);
    job.comm(rank, {.name = "wait", .request = 1, .group = {}});
    job.comm(rank, {.name = "allreduce", .request = 2, .inputs = b, .outputs = b});
  }
  return job.program();
}

// Would fail if operators or communications were priced by anything but the model.
TEST(JobCosts, ModelledOnesFollowTheModel) {
  ReplayProgram program = overlapped_program(2);
  JobMeetings meetings = meetings_of(program);
  DeviceModel model;
  JobCosts costs = modelled_costs(program, meetings, model);
  ASSERT_EQ(costs.size(), 2u);
  double reduce_us = comm_us(program, meetings.collectives[0], model.topology);
  double relu_us = model.kernel_us({.device_bytes = 8000, .operations = 1000});
  for (const RankCosts& rank : costs) {
    EXPECT_THAT(rank.us, ElementsAre(reduce_us, relu_us, 0, reduce_us));
    EXPECT_THAT(rank.before_us, ::testing::Each(0));
    EXPECT_EQ(rank.after_us, 0);
  }
}

// Would fail if waiting counted as transfer, or overlap as computation that came before.
TEST(JobCosts, RecordedOnesTellComputationFromWaiting) {
  ReplayProgram program = overlapped_program(2);
  // The second collective waits 30 us for rank 1. Rank 0 begins 2 us before rank 1.
  JobTimeline timeline = hand_job({{comm(12, 40), comm(50, 100)}, {comm(30, 40), comm(80, 100)}});
  timeline.ranks[0].steps = {{"ProfilerStep#1", 2, 111}};
  timeline.ranks[1].steps = {{"ProfilerStep#1", 4, 105}};
  JobCosts costs = recorded_costs(program, meetings_of(program), timeline);
  EXPECT_THAT(costs[0].us, ElementsAre(10, 0, 0, 20));
  EXPECT_THAT(costs[1].us, ElementsAre(10, 0, 0, 20));
  EXPECT_EQ(costs[0].begin_us, 0);
  EXPECT_EQ(costs[1].begin_us, 2);
  EXPECT_THAT(costs[0].before_us, ElementsAre(10, 0, 0, 10));
  EXPECT_THAT(costs[1].before_us, ElementsAre(26, 0, 0, 40));
  EXPECT_EQ(costs[0].after_us, 11);
  EXPECT_EQ(costs[1].after_us, 5);
}

// Would fail if a timeline without steps began or ended elsewhere than its spans.
TEST(JobCosts, WithoutStepsSpansDecide) {
  ReplayProgram program = overlapped_program(1);
  JobTimeline timeline = hand_job({{simmesh::testing::compute(1, 3), comm(5, 6), comm(8, 9),
                                    simmesh::testing::compute(10, 14)}});
  JobCosts costs = recorded_costs(program, meetings_of(program), timeline);
  EXPECT_THAT(costs[0].before_us, ElementsAre(4, 0, 0, 2));
  EXPECT_EQ(costs[0].after_us, 5);
}

// Would fail if a timeline of another program were accepted.
TEST(JobCosts, RefuseATimelineThatDoesntFit) {
  ReplayProgram program = overlapped_program(2);
  JobMeetings meetings = meetings_of(program);
  simmesh::testing::expect_error(
      [&] {
        recorded_costs(program, meetings, hand_job({{comm(1, 2)}, {comm(1, 2)}}));
      },
      ErrorKind::value_error, "expected a timeline with the 2 communications of the trace, got 1");
  simmesh::testing::expect_error(
      [&] {
        recorded_costs(program, meetings, hand_job({{comm(1, 2), comm(3, 4)}}));
      },
      ErrorKind::value_error, "expected a timeline of rank 1");
}

// Would fail if barriers, which some timelines have and others don't, shifted what follows.
TEST(JobCosts, BarriersCountWhereTheTimelineHasThem) {
  samples::HandJob job(1);
  std::vector<samples::HandTensor> a = {{.storage = 1, .elements = 10}};
  job.comm(0, {.name = "barrier", .request = 1});
  job.comm(0, {.name = "allreduce", .request = 2, .inputs = a, .outputs = a});
  ReplayProgram program = job.program();
  CommSpans with = comm_spans(program, hand_job({{comm(1, 2), comm(3, 5)}}));
  CommSpans without = comm_spans(program, hand_job({{comm(3, 5)}}));
  EXPECT_EQ(with[0][0]->begin_us, 1);
  EXPECT_EQ(with[0][1]->end_us, 5);
  EXPECT_FALSE(without[0][0].has_value());
  EXPECT_EQ(without[0][1]->begin_us, 3);
}

// Would fail if a message took as long as the side that waited longer.
TEST(JobCosts, MessagesTakeTheShorterOfTheirSides) {
  samples::HandJob job(2);
  std::vector<samples::HandTensor> a = {{.storage = 1, .elements = 10}};
  job.comm(0, {.name = "send", .inputs = a, .rank = 1});
  job.comm(1, {.name = "recv", .outputs = a, .rank = 0});
  ReplayProgram program = job.program();
  JobCosts costs =
      recorded_costs(program, meetings_of(program), hand_job({{comm(10, 15)}, {comm(2, 15)}}));
  EXPECT_THAT(costs[0].us, ElementsAre(5));
  EXPECT_THAT(costs[1].us, ElementsAre(5));
}

}  // namespace

}  // namespace simmesh::replay
