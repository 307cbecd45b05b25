#include "replay/analysis/bandwidth.h"

#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::hand_job;

// Would fail if a factor weren't the one of nccl-tests, in whichever spelling the name comes.
TEST(ReplayBandwidth, KnowsTheFactorOfEachCollective) {
  EXPECT_EQ(bus_factor("allreduce", 8), 1.75);
  EXPECT_EQ(bus_factor("allreduce_coalesced", 4), 1.5);
  for (const char* name :
       {"all_gather", "_allgather_base", "reduce_scatter", "_reduce_scatter_base", "all_to_all",
        "all_to_allv", "gather", "scatter"})
    EXPECT_EQ(bus_factor(name, 4), 0.75) << name;
  for (const char* name : {"broadcast", "reduce", "send", "recv"})
    EXPECT_EQ(bus_factor(name, 4), 1) << name;
  for (const char* name : {"wait", "barrier", "init", "", "teleport"})
    EXPECT_EQ(bus_factor(name, 4), std::nullopt) << name;
  EXPECT_EQ(bus_factor("allreduce", 0), std::nullopt);
}

// Would fail if busbw came from algbw before it is rounded: 0.005 rounds to 0.01, and 0.01 * 0.75
// to 0.01, where 0.005 * 0.75 would give 0.00.
TEST(ReplayBandwidth, IsRoundedTwice) {
  JobTimeline job = hand_job({{comm(0, 100)}, {comm(50, 100)}, {comm(50, 100)}, {comm(40, 100)}});
  for (RankTimeline& rank : job.ranks)
    rank.comms[0] = {.span = rank.comms[0].span,
                     .name = "all_gather",
                     .group_size = 4,
                     .in_elements = 139,
                     .out_elements = 556,
                     .item_bytes = 1};
  std::vector<RankBandwidth> ranks = bandwidth_of(job, job_collectives(job));
  const CommBandwidth& slow = ranks[0].comms.at(0);
  EXPECT_EQ(slow.bytes, 556);
  EXPECT_EQ(slow.algbw, 0.01);
  EXPECT_EQ(slow.busbw, 0.01);
  EXPECT_EQ(slow.moved, 417);
  EXPECT_EQ(slow.effective, 417 / 50.0 / 1000);
  EXPECT_EQ(ranks[0].shared, 417 / 100.0 / 1000);
}

// Would fail if a rank's own part counted, or if the larger direction weren't taken: rank 1 sends
// 60 of 100 elements to others and gets 200 of 240.
TEST(ReplayBandwidth, OfAnUnevenAllToAllIsWithoutTheOwnPart) {
  JobTimeline job = hand_job({{}, {comm(0, 2)}, {}});
  job.ranks[1].comms[0] = {.span = 0,
                           .name = "all_to_allv",
                           .group_size = 3,
                           .in_elements = 100,
                           .out_elements = 240,
                           .item_bytes = 4,
                           .in_split = {30, 40, 30},
                           .out_split = {100, 40, 100}};
  CommBandwidth one = bandwidth_of(job, job_collectives(job))[1].comms.at(0);
  EXPECT_EQ(one.bytes, 960);
  EXPECT_EQ(one.moved, 800);
  EXPECT_EQ(one.algbw, 0.48);
  EXPECT_EQ(one.busbw, 0.4);
  job.ranks[1].comms[0].out_split.clear();  // 240 / 3 * 2 come from others
  EXPECT_EQ(bandwidth_of(job, job_collectives(job))[1].comms.at(0).moved, 640);
}

// Would fail if the own part were looked up by the rank in the job where the group has its own
// order.
TEST(ReplayBandwidth, FindsTheOwnPartInTheGroup) {
  JobTimeline job = hand_job({{}, {}, {comm(0, 1, 0)}}, 1);
  job.groups[0].members = {2, 0};
  job.ranks[2].comms[0] = {.span = 0,
                           .name = "all_to_allv",
                           .group = 0,
                           .group_size = 2,
                           .in_elements = 10,
                           .out_elements = 10,
                           .item_bytes = 1,
                           .in_split = {9, 1},
                           .out_split = {9, 1}};
  EXPECT_EQ(bandwidth_of(job, job_collectives(job))[2].comms.at(0).moved, 1);
}

// Would fail if a length of nothing were divided by, or if what isn't known were made up.
TEST(ReplayBandwidth, LeavesOutWhatItCannotKnow) {
  JobTimeline job = hand_job({{comm(3, 3), comm(4, 5), comm(6, 7)}});
  for (std::size_t c : {0u, 1u})
    job.ranks[0].comms[c] = {.span = std::uint32_t(c),
                             .name = "allreduce",
                             .group_size = c == 0 ? 2 : 0,
                             .in_elements = 5,
                             .out_elements = 5,
                             .item_bytes = 4};
  RankBandwidth rank = bandwidth_of(job, job_collectives(job))[0];
  ASSERT_EQ(rank.comms.size(), 1u);
  EXPECT_EQ(rank.comms[0].algbw, 0);
  EXPECT_EQ(rank.comms[0].effective, std::nullopt);  // the other rank isn't there
}

TEST(ReplayBandwidth, RoundsAsPrintfDoes) {
  EXPECT_EQ(rounded(0.125, 2), 0.12);
  EXPECT_EQ(rounded(0.375, 2), 0.38);
  EXPECT_EQ(rounded(2.675, 2), 2.67);  // the double is below
  EXPECT_EQ(rounded(1234567.891, 0), 1234568);
}

}  // namespace

}  // namespace simmesh::replay
