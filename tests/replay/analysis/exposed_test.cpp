#include "replay/analysis/exposed.h"

#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::compute;
using testing::dlrm_timeline;
using testing::hand_rank;
using testing::HandSpan;

RankTimeline busy_rank() {
  return hand_rank(0, {compute(0, 4), comm(2, 10), compute(6, 7), comm(9, 12), compute(20, 22),
                       HandSpan{.begin_us = 11, .end_us = 14, .kind = SpanKind::copy},
                       HandSpan{.begin_us = 0, .end_us = 50, .kind = SpanKind::annotation}});
}

// Would fail if overlapping communications counted twice, or a copy hid one.
TEST(ReplayExposed, IsWhatTheTimesSay) {
  RankBusy busy = busy_of(busy_rank());
  EXPECT_EQ(busy.comm_us, 10);
  EXPECT_EQ(busy.compute_us, 7);
  EXPECT_EQ(busy.copy_us, 3);
  EXPECT_EQ(busy.exposed_us, 7);
  EXPECT_EQ(busy.overlapped_us, 3);
  EXPECT_EQ(busy.idle_us, 6);
  EXPECT_EQ(exposed_parts(busy_rank()), (std::vector<double>{5, 3}));
}

// Would fail if a stretch included time outside of it.
TEST(ReplayExposed, CountsWithinAStretch) {
  RankBusy busy = busy_of(device_moments(busy_rank()), {3, 21});
  EXPECT_EQ(busy.comm_us, 9);
  EXPECT_EQ(busy.compute_us, 3);
  EXPECT_EQ(busy.exposed_us, 7);
  EXPECT_EQ(busy.idle_us, 6);
}

TEST(ReplayExposed, IsNothingWithoutADevice) {
  RankBusy busy = busy_of(hand_rank(0, {}));
  EXPECT_EQ(busy.comm_us, 0);
  EXPECT_EQ(busy.idle_us, 0);
}

// Would fail if the published job's figures, [busy, exposed] by rank, came out otherwise.
TEST(ReplayExposed, OfARealJobIsWhatWasRecorded) {
  std::vector<std::pair<double, double>> figures;
  for (const RankTimeline& rank : dlrm_timeline().ranks) {
    RankBusy busy = busy_of(rank);
    figures.emplace_back(busy.comm_us, busy.exposed_us);
    EXPECT_EQ(busy.comm_us, busy.exposed_us + busy.overlapped_us);
  }
  EXPECT_EQ(figures, (std::vector<std::pair<double, double>>{{5798, 5537},
                                                             {11336, 11056},
                                                             {3492, 3217},
                                                             {9774, 9450},
                                                             {6587, 6550},
                                                             {6251, 6211},
                                                             {3558, 3289},
                                                             {1746, 1580}}));
}

}  // namespace

}  // namespace simmesh::replay
