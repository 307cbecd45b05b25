#include "replay/analysis/skew.h"

#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::dlrm_timeline;
using testing::hand_job;

// Would fail if any figure differed from the answer by hand: rank 1 comes last, 6 us after rank 0.
TEST(ReplaySkew, IsWhatTheTimesSay) {
  JobTimeline job = hand_job({{comm(10, 30)}, {comm(16, 31)}, {comm(12, 30)}});
  JobSkew skew = skew_of(job, job_collectives(job));
  ASSERT_EQ(skew.collectives.size(), 1u);
  const CollectiveSkew& one = skew.collectives[0];
  EXPECT_EQ(one.last_rank, 1);
  EXPECT_EQ(one.start_spread_us, 6);
  EXPECT_EQ(one.end_spread_us, 1);
  EXPECT_EQ(one.shortest_us, 15);
  std::vector<double> starts, waits;
  for (const PartSkew& part : one.parts) {
    starts.push_back(part.start_us);
    waits.push_back(part.wait_us.value());
  }
  EXPECT_EQ(starts, (std::vector<double>{0, 6, 2}));
  EXPECT_EQ(waits, (std::vector<double>{5, 0, 3}));
  EXPECT_EQ(skew.comm_us, 53);
  EXPECT_EQ(skew.wait_us, 8);
  EXPECT_EQ(skew.times_last, (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(skew.caused_wait_us, (std::vector<double>{0, 8, 0}));
}

TEST(ReplaySkew, NamesTheLowestOfThoseThatComeTogether) {
  JobTimeline job = hand_job({{comm(1, 9)}, {comm(4, 9)}, {comm(4, 9)}});
  EXPECT_EQ(skew_of(job, job_collectives(job)).collectives[0].last_rank, 1);
}

// Would fail if figures were printed that nobody can know: of a group of two one rank is missing,
// and clocks differ so that no times overlap.
TEST(ReplaySkew, DoesNotKnowWhatIsNotThere) {
  JobTimeline job = hand_job({{comm(10, 30, 0)}, {}}, 1);
  JobSkew skew = skew_of(job, job_collectives(job));
  EXPECT_EQ(skew.collectives[0].shortest_us, std::nullopt);
  EXPECT_EQ(skew.collectives[0].last_rank, std::nullopt);
  EXPECT_EQ(skew.collectives[0].parts[0].wait_us, std::nullopt);
  EXPECT_EQ(skew.waits_unknown, 1u);
  EXPECT_EQ(skew.comm_known_us, 0);
  job = hand_job({{comm(10, 30, 0)}, {comm(60, 70, 0)}}, 1);
  skew = skew_of(job, job_collectives(job));
  EXPECT_EQ(skew.collectives[0].parts[0].wait_us, 10);
  EXPECT_EQ(skew.collectives[0].last_rank, std::nullopt);
  EXPECT_EQ(skew.times_last, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(skew.lasts_unknown, 1u);
}

// Would fail if the published job's waiting were other than 96.4 % of its communication.
TEST(ReplaySkew, OfARealJobIsMostlyWaiting) {
  const JobTimeline& job = dlrm_timeline();
  JobSkew skew = skew_of(job, job_collectives(job));
  EXPECT_EQ(skew.comm_us, 48542);
  EXPECT_EQ(skew.wait_us, 46806);
  EXPECT_EQ(skew.times_last, (std::vector<std::int64_t>{0, 0, 0, 0, 1, 2, 0, 5}));
  std::vector<double> end_spreads;
  for (const CollectiveSkew& one : skew.collectives) end_spreads.push_back(one.end_spread_us);
  EXPECT_EQ(end_spreads, (std::vector<double>{2, 2, 1, 2, 5, 3, 5, 7}));
}

}  // namespace

}  // namespace simmesh::replay
