#include "replay/analysis/comm_table.h"

#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::hand_job;

// Would fail if percentiles weren't those of numpy: of 0, 10, ..., 40 the 1st is 0.4.
TEST(ReplayCommTable, SpreadsAsNumpyDoes) {
  Spread spread = spread_of({40, 0, 20, 10, 30});
  EXPECT_EQ(spread.mean, 20);
  EXPECT_EQ(spread.p1, 0.4);
  EXPECT_EQ(spread.p50, 20);
  EXPECT_EQ(spread.p90, 36);
  EXPECT_DOUBLE_EQ(spread.p99, 39.6);
  EXPECT_EQ(spread_of({7}).p1, 7);
  EXPECT_EQ(spread_of({7}).p99, 7);
  EXPECT_EQ(spread_of({}).mean, 0);
}

// Would fail if communications of other sizes shared a row, or if a group counted for each rank.
TEST(ReplayCommTable, PutsTogetherWhatIsAlike) {
  JobTimeline job = hand_job({{comm(0, 10, 0), comm(20, 24, 0), comm(30, 31, 1)},
                              {comm(6, 10, 0), comm(20, 24, 0), comm(28, 31, 1)}},
                             2);
  for (RankTimeline& rank : job.ranks)
    for (std::size_t c = 0; c < 3; ++c) {
      rank.comms[c].item_bytes = 4;
      rank.comms[c].group_size = 2;
      rank.comms[c].in_elements = c == 1 ? 5000 : 1000;
    }
  std::vector<CommRow> table = comm_table(job, job_collectives(job));
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].kernel, "kernel");
  EXPECT_EQ(table[0].name, "allreduce");
  EXPECT_EQ(table[0].bytes, 4000);
  EXPECT_EQ(table[0].group_size, 2);
  EXPECT_EQ(table[0].groups, 2u);
  EXPECT_EQ(table[0].count, 4u);
  EXPECT_EQ(table[0].length_us.mean, 4.5);
  EXPECT_EQ(table[0].length_us.p50, 3.5);
  EXPECT_EQ(table[0].wait_us, 8);
  EXPECT_EQ(table[0].total_us, 18);
  EXPECT_EQ(table[1].count, 2u);
  EXPECT_EQ(table[1].busbw.mean, 5);
}

}  // namespace

}  // namespace simmesh::replay
