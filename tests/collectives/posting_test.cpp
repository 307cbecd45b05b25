#include "collectives/posting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/group.h"
#include "collectives/mailbox.h"
#include "core/engine/run/run.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// A message is in the mailbox from the post on, with the bytes that it had then.
TEST(Posting, AMessageWaitsForItsReceive) {
  run_every_schedule(2, [](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    Mailbox& mailbox = group.group().mailbox();
    if (rank.id() == 0) {
      Tensor value = full({2}, DType::int32, 5);
      PostedMessage message = post_message({value}, {.peer = 1, .tag = 3}, group, {});
      value.mutable_values<std::int32_t>()[0] = 6;
      mailbox.wait_received(message.number, rank, {});
      rank.run().take_turn(rank);
      EXPECT_TRUE(mailbox.was_received(message.number));
      return;
    }
    Receive receive = make_receive(Shape{2}, DType::int32, {.peer = 0, .tag = 3}, group, {});
    mailbox.post(receive);
    mailbox.wait_message(receive, rank);
    EXPECT_EQ(receive.message->payload.to_tensor().values<std::int32_t>()[0], 5);
  });
}

TEST(Posting, RefusesPeersThatAreNoMembers) {
  Outcome outcome = World({.ranks = 2}).run([](Rank& rank) {
    Tensor value = zeros({1}, DType::float32);
    if (rank.id() == 0) post_message({value}, {.peer = 2}, ProcessGroup::world(), {});
    make_receive(Shape{1}, DType::float32, {.peer = -1}, ProcessGroup::world(), {});
  });
  EXPECT_THAT(report(outcome), HasSubstr("send: expected a peer among the 2 members of group"));
  EXPECT_THAT(report(outcome), HasSubstr("receive: expected a peer among the 2 members of group"));
}

}  // namespace
}  // namespace simmesh
