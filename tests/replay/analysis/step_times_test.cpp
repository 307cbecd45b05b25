#include "replay/analysis/step_times.h"

#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::compute;
using testing::dlrm_timeline;
using testing::hand_job;

// Would fail if steps of one name weren't joined, or if a step counted time outside of it.
TEST(ReplayStepTimes, PutTheRanksOfAStepTogether) {
  JobTimeline job = hand_job({{compute(0, 4), comm(12, 14)}, {comm(11, 14)}});
  job.ranks[0].steps = {{"ProfilerStep#1", 0, 10}, {"ProfilerStep#2", 10, 18}};
  job.ranks[1].steps = {{"ProfilerStep#2", 9, 19}};
  std::vector<StepTimes> steps = step_times(job);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].name, "ProfilerStep#1");
  EXPECT_EQ(steps[0].ranks.size(), 1u);
  EXPECT_EQ(steps[0].ranks[0].busy.compute_us, 4);
  EXPECT_EQ(steps[0].ranks[0].busy.comm_us, 0);
  EXPECT_EQ(steps[1].ranks.size(), 2u);
  EXPECT_EQ(steps[1].mean_us, 9);
  EXPECT_EQ(steps[1].shortest_us, 8);
  EXPECT_EQ(steps[1].longest_us, 10);
  EXPECT_EQ(steps[1].ranks[1].busy.exposed_us, 3);
  EXPECT_EQ(mean_step_us(steps), 28 / 3.0);
}

TEST(ReplayStepTimes, KeepStepsOfOneNameApart) {
  JobTimeline job = hand_job({{}});
  job.ranks[0].steps = {{"ProfilerStep#1", 0, 10}, {"ProfilerStep#1", 20, 22}};
  EXPECT_EQ(step_times(job).size(), 2u);
  EXPECT_EQ(mean_step_us(step_times(hand_job({{}}))), 0);
}

// Would fail if the step of the published job had other lengths.
TEST(ReplayStepTimes, OfARealJobAreWhatWasRecorded) {
  std::vector<StepTimes> steps = step_times(dlrm_timeline());
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].name, "ProfilerStep#10");
  std::vector<double> lengths;
  for (const StepTimes::OfRank& rank : steps[0].ranks) lengths.push_back(rank.length_us);
  EXPECT_EQ(lengths, (std::vector<double>{14455, 19901, 13017, 19313, 17979, 17797, 13091, 12509}));
  EXPECT_EQ(steps[0].longest_us, 19901);
}

}  // namespace

}  // namespace simmesh::replay
