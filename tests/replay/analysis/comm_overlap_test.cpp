#include "replay/analysis/comm_overlap.h"

#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::compute;
using testing::hand_rank;
using testing::HandSpan;

// Would fail if a figure differed from the answer by hand, or if touching counted as overlapping.
TEST(ReplayCommOverlap, IsWhatTheTimesSay) {
  RankTimeline rank =
      hand_rank(0, {comm(0, 10), comm(4, 6), comm(5, 12), comm(12, 13), compute(8, 11),
                    compute(3, 5), HandSpan{.begin_us = 9, .end_us = 20, .kind = SpanKind::copy}});
  std::vector<CommOverlap> overlaps = comm_overlaps(rank);
  ASSERT_EQ(overlaps.size(), 4u);
  EXPECT_EQ(overlaps[0].length_us, 10);
  EXPECT_EQ(overlaps[0].with_compute_us, 4);
  EXPECT_EQ(overlaps[0].with_copies_us, 1);
  EXPECT_EQ(overlaps[0].with_comms_us, 6);
  EXPECT_EQ(overlaps[0].comms, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(overlaps[1].with_comms_us, 2);
  EXPECT_EQ(overlaps[1].comms, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(overlaps[2].with_comms_us, 5);
  EXPECT_EQ(overlaps[3].comms, std::vector<std::uint32_t>{});
  EXPECT_EQ(overlaps[3].with_copies_us, 1);
}

// Would fail if a communication without length overlapped anything.
TEST(ReplayCommOverlap, OfNothingIsNothing) {
  std::vector<CommOverlap> overlaps = comm_overlaps(hand_rank(0, {comm(0, 4), comm(2, 2)}));
  EXPECT_TRUE(overlaps[0].comms.empty());
  EXPECT_TRUE(overlaps[1].comms.empty());
  EXPECT_TRUE(comm_overlaps(hand_rank(0, {})).empty());
}

}  // namespace

}  // namespace simmesh::replay
