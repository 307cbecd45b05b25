#include "collectives/mailbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/group.h"
#include "collectives/process_group.h"
#include "core/check/error.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::error_text;
using ::testing::IsEmpty;

struct Tagged {
  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t tag = 0;
};

Message message_of(const Tagged& ends, float value, std::int64_t numel = 2) {
  Tensor tensor = full({numel}, DType::float32, value);
  return {.from = ends.from,
          .to = ends.to,
          .tag = ends.tag,
          .payload = {tensor.storage()->buffer(), 0, tensor.shape(), tensor.dtype(), 0},
          .site = {"a.cpp", 1}};
}

Receive receive_of(std::size_t to, std::optional<std::size_t> from, std::int64_t tag = 0) {
  return {.to = to, .from = from, .tag = tag, .shape = {2}, .site = {"b.cpp", 2}};
}

float value_of(const Receive& receive) {
  return receive.message->payload.to_tensor().values<float>()[0];
}

// in_a_run calls a function with a mailbox of four members, on the only rank that does anything.
void in_a_run(const std::function<void(Mailbox&, Rank&)>& function) {
  Outcome outcome = World({.ranks = 4}).run([&](Rank& rank) {
    if (rank.id() == 0) function(ProcessGroup::world().group().mailbox(), rank);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// If this fails, messages overtake one another, or reach who didn't ask for them.
TEST(Mailbox, AReceiveGetsTheEarliestMessageThatItTakes) {
  in_a_run([](Mailbox& mailbox, Rank&) {
    for (float value : {1.0f, 2.0f}) mailbox.post(message_of({.from = 1, .to = 0}, value));
    mailbox.post(message_of({.from = 2, .to = 0}, 3));
    mailbox.post(message_of({.from = 1, .to = 0, .tag = 7}, 4));
    mailbox.post(message_of({.from = 1, .to = 3}, 5));
    auto received = [&](std::optional<std::size_t> from, std::int64_t tag = 0) {
      Receive receive = receive_of(0, from, tag);
      mailbox.post(receive);
      return receive.message ? value_of(receive) : -1;
    };
    EXPECT_EQ(received(1, 7), 4);
    EXPECT_EQ(received(2), 3);
    EXPECT_EQ(received({}), 1) << "from any member";
    EXPECT_EQ(received(1), 2);
    EXPECT_EQ(received(1, 7), -1) << "the only one is gone";
  });
}

// If this fails, the result of a program depends on whether sends or receives come first.
TEST(Mailbox, AMessageGoesToTheEarliestReceiveThatTakesIt) {
  in_a_run([](Mailbox& mailbox, Rank&) {
    Receive of_two = receive_of(0, 2), any = receive_of(0, {}), of_one = receive_of(0, 1);
    for (Receive* receive : {&of_two, &any, &of_one}) mailbox.post(*receive);
    std::uint64_t first = mailbox.post(message_of({.from = 1, .to = 0}, 10));
    EXPECT_TRUE(mailbox.was_received(first));
    EXPECT_EQ(value_of(any), 10);
    EXPECT_FALSE(of_one.message);
    mailbox.post(message_of({.from = 1, .to = 0}, 11));
    EXPECT_EQ(value_of(of_one), 11);
    mailbox.post(message_of({.from = 2, .to = 0}, 12));
    EXPECT_EQ(value_of(of_two), 12);
  });
}

// If this fails, a sender doesn't learn that its message has arrived.
TEST(Mailbox, FindsAMessageUntilItIsReceived) {
  in_a_run([](Mailbox& mailbox, Rank&) {
    std::uint64_t first = mailbox.post(message_of({.from = 1, .to = 0}, 1));
    std::uint64_t second = mailbox.post(message_of({.from = 1, .to = 0}, 2));
    EXPECT_NE(first, second);
    ASSERT_NE(mailbox.find(first), nullptr);
    EXPECT_EQ(mailbox.find(first)->from, 1u);
    Receive receive = receive_of(0, 1);
    mailbox.post(receive);
    EXPECT_EQ(mailbox.find(first), nullptr);
    EXPECT_TRUE(mailbox.was_received(first));
    EXPECT_FALSE(mailbox.was_received(second));
  });
}

// If this fails, a started receive's place is freed before its message comes, or never.
TEST(Mailbox, KeepsAReceiveUntilItsMessageIsFound) {
  in_a_run([](Mailbox& mailbox, Rank& rank) {
    auto receive = std::make_shared<Receive>(receive_of(0, 1));
    mailbox.post(*receive, receive);
    EXPECT_EQ(receive.use_count(), 2);
    mailbox.post(message_of({.from = 1, .to = 0}, 6));
    rank.run().take_turn(rank);
    EXPECT_EQ(receive.use_count(), 1);
    EXPECT_EQ(value_of(*receive), 6);
  });
}

// If this fails, bytes of another size are taken for what the receiver asked for.
TEST(Mailbox, RefusesAMessageOfAnotherSize) {
  in_a_run([](Mailbox& mailbox, Rank&) {
    mailbox.post(message_of({.from = 1, .to = 0}, 1, 3));
    Receive receive = receive_of(0, 1);
    EXPECT_EQ(error_text([&] { mailbox.post(receive); }),
              "[collectives/mismatch] message of group world [0, 1, 2, 3] with tag 0: the sizes "
              "differ: rank 1 sends float32[3] at a.cpp:1, rank 0 receives float32[2] at b.cpp:2");
  });
}

// If this fails, a rank waits for ever for a message that has come, or goes on before it has.
TEST(Mailbox, WakesWhoWaitsUnderEverySchedule) {
  run_every_schedule(3, [](Rank& rank) {
    Mailbox& mailbox = ProcessGroup::world().group().mailbox();
    std::size_t next = (rank.id() + 1) % 3, before = (rank.id() + 2) % 3;
    for (int i = 0; i < 3; ++i) {
      rank.run().take_turn(rank);
      std::uint64_t sent = mailbox.post(message_of({.from = rank.id(), .to = next}, float(i)));
      Receive receive = receive_of(rank.id(), before);
      mailbox.post(receive);
      EXPECT_TRUE(mailbox.wait_message(receive, rank));
      EXPECT_EQ(value_of(receive), float(i));
      rank.run().take_turn(rank);
      EXPECT_TRUE(mailbox.wait_received(sent, rank, CallSite()));
      rank.run().take_turn(rank);
      EXPECT_TRUE(mailbox.was_received(sent));
    }
  });
}

// If this fails, a wait with a deadline loses its message, or a rank that has gone on is woken by a
// message that comes later.
TEST(Mailbox, WaitsNoLongerThanToADeadline) {
  run_every_schedule(2, [](Rank& rank) {
    Mailbox& mailbox = ProcessGroup::world().group().mailbox();
    rank.run().take_turn(rank);
    if (rank.id() == 1) {
      rank.sleep(5);
      rank.run().take_turn(rank);
      mailbox.post(message_of({.from = 1, .to = 0}, 1));
      return;
    }
    Receive receive = receive_of(0, 1);
    mailbox.post(receive);
    EXPECT_FALSE(mailbox.wait_message(receive, rank, 2.0));
    EXPECT_EQ(rank.seconds(), 2.0);
    std::uint64_t unread = mailbox.post(message_of({.from = 0, .to = 1}, 2));
    EXPECT_FALSE(mailbox.wait_received(unread, rank, CallSite(), 3.0));
    EXPECT_TRUE(mailbox.wait_message(receive, rank, 9.0));
    EXPECT_EQ(rank.seconds(), 5.0);
    EXPECT_TRUE(mailbox.wait_message(receive, rank, 5.0)) << "it is there already";
  });
}

// If this fails, the report of a deadlock doesn't say which message is missing.
TEST(Waiter, SaysWhatItWaitsFor) {
  in_a_run([](Mailbox& mailbox, Rank& rank) {
    std::uint64_t sent = mailbox.post(message_of({.from = 0, .to = 2, .tag = 7}, 1));
    Receive named = receive_of(0, 3, 8), any = receive_of(0, {}, 9);
    Waiter sender(mailbox, rank, sent), of_named(mailbox, rank, named), of_any(mailbox, rank, any);
    EXPECT_EQ(sender.group(), "world [0, 1, 2, 3]");
    EXPECT_EQ(sender.peer(), "to rank 2, tag 7");
    EXPECT_EQ(of_named.peer(), "from rank 3, tag 8");
    EXPECT_EQ(of_any.peer(), "from any rank, tag 9");
    for (const Waiter* waiter : {&sender, &of_named, &of_any})
      EXPECT_EQ(waiter->operand(0), "float32[2]");
    EXPECT_THAT(sender.missing_ranks(), ElementsAre(2));
    EXPECT_THAT(of_named.missing_ranks(), ElementsAre(3));
    EXPECT_THAT(of_any.missing_ranks(), IsEmpty());
    EXPECT_TRUE(sender.waits_for(sent, &named));
    EXPECT_TRUE(of_named.waits_for(sent + 1, &named));
    EXPECT_FALSE(of_named.waits_for(sent, &any));
  });
}

}  // namespace
}  // namespace simmesh
