#include "replay/run/meetings.h"

#include <gtest/gtest.h>

#include "tests/replay/run/hand_job.h"

namespace simmesh::replay {

namespace {

std::vector<samples::HandTensor> some_tensor() { return {{.storage = 1, .elements = 2}}; }

samples::HandComm hand_message(const std::string& name, std::int64_t peer,
                               std::uint32_t group = 0) {
  return {.name = name,
          .inputs = some_tensor(),
          .outputs = some_tensor(),
          .rank = peer,
          .group = group};
}

// Would fail if collectives of two groups, or of two groups of the same ranks, were mixed up.
TEST(Meetings, CountWithinEachGroup) {
  samples::HandJob job(3, {{0, 1, 2}, {2, 0}});
  auto reduce_in = [&](std::int64_t rank, std::uint32_t group) {
    job.comm(rank, {.name = "allreduce", .inputs = some_tensor(), .group = group});
  };
  for (std::uint32_t group : {0, 2, 1, 0}) reduce_in(0, group);
  for (std::uint32_t group : {1, 0, 0}) reduce_in(1, group);
  for (std::uint32_t group : {0, 0, 1, 2}) reduce_in(2, group);
  ReplayProgram program = job.program();
  JobMeetings meetings = meetings_of(program);
  ASSERT_EQ(meetings.collectives.size(), 4u);
  for (const Meeting& meeting : meetings.collectives) EXPECT_TRUE(meeting.is_complete());
  const Meeting& in_pair = meetings.collectives[*meetings.collective_of[0][1]];
  EXPECT_EQ(in_pair.group, 2u);
  EXPECT_EQ(in_pair.steps, (std::vector<std::optional<std::uint32_t>>{3, 1}));
  EXPECT_EQ(members_of(program, in_pair), (std::vector<std::int64_t>{2, 0}));
  const Meeting& second = meetings.collectives[*meetings.collective_of[2][1]];
  EXPECT_EQ(second.number, 1u);
  EXPECT_EQ(second.steps, (std::vector<std::optional<std::uint32_t>>{3, 2, 1}));
}

// Would fail if a collective that a member never calls counted as one of all.
TEST(Meetings, IncompleteOnesSayWhoIsMissing) {
  samples::HandJob job(2);
  job.comm(0, {.name = "barrier"});
  JobMeetings meetings = meetings_of(job.program());
  ASSERT_EQ(meetings.collectives.size(), 1u);
  EXPECT_FALSE(meetings.collectives[0].is_complete());
  EXPECT_FALSE(meetings.collectives[0].steps[1].has_value());
}

// Would fail if messages of one pair were taken out of order, or by another receiver.
TEST(Meetings, MessagesGoInOrderByPair) {
  samples::HandJob job(3, {{2, 1, 0}});
  job.comm(0, hand_message("send", 1));
  job.comm(0, hand_message("send", 2));
  job.comm(0, hand_message("isend", 1));
  job.comm(0, hand_message("send", 0, 1));  // to rank 2, which is member 0 of that group
  job.comm(1, hand_message("recv", 0));
  job.comm(1, hand_message("recv", 0));
  job.comm(2, hand_message("irecv", 2, 1));
  job.comm(2, hand_message("recvAnySource", 0));
  job.comm(2, hand_message("recv", 1));
  JobMeetings meetings = meetings_of(job.program());
  auto sender_of = [&](std::size_t rank, std::size_t step) {
    return meetings.messages[*meetings.message_of[rank][step]].sender.step;
  };
  ASSERT_EQ(meetings.messages.size(), 4u);
  EXPECT_EQ(sender_of(1, 0), 0u);
  EXPECT_EQ(sender_of(1, 1), 2u);
  EXPECT_EQ(sender_of(2, 0), 3u);
  EXPECT_EQ(sender_of(2, 1), 1u);
  ASSERT_EQ(meetings.unmatched.size(), 1u);
  EXPECT_EQ(meetings.unmatched[0].rank, 2u);
  EXPECT_EQ(meetings.unmatched[0].step, 2u);
}

// Would fail if a receive from any source took a message that another one waits for, or one to
// somebody else.
TEST(Meetings, AnySourceTakesWhatIsLeft) {
  samples::HandJob job(3);
  job.comm(0, hand_message("recvAnySource", 0));
  job.comm(0, hand_message("recv", 1));
  job.comm(0, hand_message("recvAnySource", 0));
  job.comm(1, hand_message("send", 0));
  job.comm(2, hand_message("send", 1));
  job.comm(2, hand_message("send", 0));
  JobMeetings meetings = meetings_of(job.program());
  ASSERT_EQ(meetings.messages.size(), 2u);
  EXPECT_EQ(meetings.messages[*meetings.message_of[0][0]].sender.rank, 2u);
  EXPECT_EQ(meetings.messages[*meetings.message_of[0][0]].sender.step, 1u);
  EXPECT_EQ(meetings.messages[*meetings.message_of[0][1]].sender.rank, 1u);
  EXPECT_EQ(meetings.unmatched.size(), 2u);
}

}  // namespace

}  // namespace simmesh::replay
