#include "replay/analysis/job_collectives.h"

#include <gtest/gtest.h>

#include "tests/replay/analysis/hand_timeline.h"

namespace simmesh::replay {

namespace {

using testing::comm;
using testing::dlrm_timeline;
using testing::hand_job;
using testing::HandSpan;

std::vector<std::vector<CommPart>> parts_of(const std::vector<JobCollective>& collectives) {
  std::vector<std::vector<CommPart>> parts;
  for (const JobCollective& collective : collectives) parts.push_back(collective.parts);
  return parts;
}

using Parts = std::vector<std::vector<CommPart>>;

// Would fail if a rank that has fewer communications shifted those of the others.
TEST(ReplayJobCollectives, AreTheKthOfEachRankWhereGroupsAreUnknown) {
  JobTimeline job = hand_job({{comm(0, 1), comm(5, 6)}, {comm(2, 3)}, {comm(1, 2), comm(4, 5)}});
  EXPECT_EQ(parts_of(job_collectives(job)), (Parts{{{0, 0}, {1, 0}, {2, 0}}, {{0, 1}, {2, 1}}}));
}

// Would fail if collectives of one group were counted among those of another.
TEST(ReplayJobCollectives, AreTheKthOfTheirGroup) {
  JobTimeline job = hand_job({{comm(0, 1, 0), comm(2, 3, 1), comm(4, 5, 0)},
                              {comm(0, 1, 1), comm(2, 3, 0), comm(4, 5, 0)}},
                             2);
  EXPECT_EQ(parts_of(job_collectives(job)),
            (Parts{{{0, 0}, {1, 1}}, {{0, 1}, {1, 0}}, {{0, 2}, {1, 2}}}));
}

// Would fail if a message counted as a collective of its group, or as one to another rank.
TEST(ReplayJobCollectives, AreMessagesBySenderAndReceiver) {
  auto message = [](double begin, std::string_view name) {
    HandSpan span = comm(begin, begin + 1, 0);
    span.name = name;
    return span;
  };
  JobTimeline job = hand_job({{message(0, "send"), message(2, "send"), comm(4, 5, 0)},
                              {comm(3, 5, 0), message(6, "recv")},
                              {message(1, "recv"), comm(2, 5, 0)}},
                             1);
  job.ranks[0].comms[0].peer = 2;
  job.ranks[0].comms[1].peer = 1;
  job.ranks[1].comms[1].peer = 0;
  job.ranks[2].comms[0].peer = 0;
  EXPECT_EQ(parts_of(job_collectives(job)),
            (Parts{{{0, 0}, {2, 0}}, {{0, 1}, {1, 1}}, {{0, 2}, {1, 0}, {2, 1}}}));
}

// Would fail if ids that all ranks record didn't count more than places: here rank 1 missed the
// first collective.
TEST(ReplayJobCollectives, AreThoseOfOneId) {
  JobTimeline job = hand_job({{comm(0, 1), comm(2, 3)}, {comm(2, 3)}});
  job.ranks[0].comms[0].comms_id = "a";
  job.ranks[0].comms[1].comms_id = job.ranks[1].comms[0].comms_id = "b";
  EXPECT_EQ(parts_of(job_collectives(job)), (Parts{{{0, 0}}, {{0, 1}, {1, 0}}}));
  job.ranks[0].comms[0].comms_id = "";  // one without an id: times count for all
  EXPECT_EQ(parts_of(job_collectives(job)), (Parts{{{0, 0}}, {{0, 1}, {1, 0}}}));
}

// Would fail if collectives of unknown groups of two of four ranks were joined: nobody knows which
// ranks belong together.
TEST(ReplayJobCollectives, AreAloneInGroupsOfWhichOnlyTheSizeIsKnown) {
  JobTimeline job = hand_job({{comm(0, 1)}, {comm(0, 1)}, {comm(0, 1)}, {comm(0, 1)}});
  for (RankTimeline& rank : job.ranks) rank.comms[0].group_size = 2;
  std::vector<JobCollective> collectives = job_collectives(job);
  EXPECT_EQ(collectives.size(), 4u);
  for (const JobCollective& collective : collectives) EXPECT_FALSE(collective.is_complete());
}

// Would fail if bytes that differ by nature told collectives apart.
TEST(ReplayJobCollectives, CompareBytesThatAreEqualOnAllMembers) {
  TimelineComm comm{.name = "all_gather", .in_elements = 3, .out_elements = 8, .item_bytes = 2};
  EXPECT_EQ(compared_bytes(comm), 16);
  comm.name = "reduce_scatter";
  EXPECT_EQ(compared_bytes(comm), 6);
  comm.name = "all_to_allv";
  EXPECT_EQ(compared_bytes(comm), 0);
  comm.name = "broadcast";
  EXPECT_EQ(compared_bytes(comm), 16);
}

TEST(ReplayJobCollectives, KnowTheirLastPart) {
  JobTimeline job = hand_job({{comm(1, 9)}, {comm(4, 9)}, {comm(4, 9)}});
  std::vector<JobCollective> collectives = job_collectives(job);
  EXPECT_EQ(last_part(job, collectives[0]), (CommPart{1, 0}));
  job.world_size = 4;
  EXPECT_EQ(last_part(job, job_collectives(job)[0]), std::nullopt);
  EXPECT_EQ(kernel_name(job, collectives[0].parts[0]), "kernel");
}

// Would fail if the eight collectives of the published job weren't found on each rank.
TEST(ReplayJobCollectives, OfARealJobHaveAllRanks) {
  std::vector<JobCollective> collectives = job_collectives(dlrm_timeline());
  ASSERT_EQ(collectives.size(), 8u);
  for (const JobCollective& collective : collectives) EXPECT_EQ(collective.parts.size(), 8u);
  EXPECT_EQ(comm_of(dlrm_timeline(), collectives[4].parts[3]).name, "all_reduce");
  EXPECT_EQ(span_of(dlrm_timeline(), collectives[4].parts[3]).length_us(), 291);
}

}  // namespace

}  // namespace simmesh::replay
