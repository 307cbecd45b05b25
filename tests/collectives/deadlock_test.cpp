#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/world.h"

// A deadlock is found the moment no rank can run, and the report is exact.
namespace simmesh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Outcome run(std::size_t ranks, const std::function<void(Rank&)>& body, const char* schedule) {
  World world({.ranks = ranks, .schedule = Schedule::parse(schedule)});
  return world.run(body);
}

constexpr const char* schedules[] = {"fifo", "seeded:1", "seeded:2", "pct:3"};

TEST(Deadlock, NamesEveryRanksOperationGroupShapeAndSite) {
  for (const char* schedule : schedules) {
    Outcome outcome = run(
        3,
        [](Rank& rank) {
          ProcessGroup world = ProcessGroup::world();
          barrier(world);
          if (rank.id() != 2) all_reduce(zeros({2, 5}, DType::bfloat16), ReduceOp::sum, world);
        },
        schedule);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->kind, Failure::Kind::deadlock);
    std::string text = report(outcome);
    EXPECT_THAT(text, HasSubstr("no rank can run, 2 of 3 have not returned"));
    EXPECT_THAT(text, HasSubstr("rank 1: waited in all_reduce #1 of world [0, 1, 2], "
                                "bfloat16[2, 5], deadlock_test.cpp:"));
    EXPECT_THAT(text, HasSubstr("rank 2: had returned"));
    EXPECT_THAT(text,
                HasSubstr("first call that differs, number 2 (#1) of group world [0, 1, 2]:"
                          "\n    all_reduce of 10 elements by ranks 0, 1 at deadlock_test.cpp"));
    EXPECT_THAT(text, HasSubstr("\n    no call by rank 2"));
  }
}

// If this fails, calls that are right are named: pieces that differ in size, messages between other
// ranks, collectives of smaller groups, and ranks that only wait for others.
TEST(Deadlock, NamesTheFirstCallOfTheGroupWithoutACounterpart) {
  for (const char* schedule : schedules) {
    Outcome outcome = run(
        4,
        [](Rank& rank) {
          ProcessGroup world = ProcessGroup::world();
          Tensor piece = zeros({std::int64_t(rank.id())}, DType::float32);
          std::vector<Tensor> pieces(rank.id() == 0 ? 4 : 0, piece);
          scatter(pieces, 0, world);
          all_gather(piece, {.uneven = true}, world);
          if (rank.id() % 2 == 0)
            send(piece, {.peer = rank.id() + 1}, world);
          else
            recv(Dims{rank.id() - 1}, DType::float32, {.peer = rank.id() - 1}, world);
          if (rank.id() < 2) barrier(ProcessGroup::of(RankList::of({0, 1}), "first two"));
          if (rank.id() == 3) return;
          Work early = all_reduce_async(zeros({2}, DType::float32), ReduceOp::sum, world);
          all_reduce_async(zeros({3}, DType::float32), ReduceOp::sum, world).wait();
        },
        schedule);
    std::string text = report(outcome);
    EXPECT_THAT(text,
                HasSubstr("first call that differs, number 3 (#2) of group world [0, 1, 2, 3]:"
                          "\n    all_reduce of 2 elements by ranks 0, 1, 2 at deadlock_test"));
    EXPECT_THAT(text, HasSubstr("\n    no call by rank 3\n"));
  }
}

// If this fails, a person must count messages to find which of them nobody receives.
TEST(Deadlock, NumbersMessagesByPeerAndTag) {
  for (const char* schedule : schedules) {
    auto program = [&](bool sends) {
      return run(
          2,
          [&](Rank& rank) {
            ProcessGroup world = ProcessGroup::world();
            Tensor tensor = zeros({1}, DType::float32);
            if (rank.id() == 0) {
              isend(tensor, {.peer = 1, .tag = 5}, world);
              isend(tensor, {.peer = 1, .tag = 7}, world);
              isend(tensor, {.peer = 1, .tag = 9}, world);
              if (sends) send(tensor, {.peer = 1, .tag = 7}, world);
            } else {
              recv(Dims{1}, DType::float32, {.peer = 0, .tag = 7}, world);
              if (sends) irecv(Dims{1}, DType::float32, {.peer = 0, .tag = 8}, world);
              if (!sends) recv(Dims{1}, DType::float32, {.peer = 0, .tag = 7}, world);
            }
          },
          schedule);
    };
    EXPECT_THAT(report(program(true)),
                AllOf(HasSubstr("first call that differs, message number 2 from rank 0 to rank 1 "
                                "with tag 7 of group world [0, 1]:\n    send by rank 0 at "),
                      HasSubstr("\n    no receive by rank 1; it receives tag 8 at deadlock_test")));
    EXPECT_THAT(report(program(false)),
                AllOf(HasSubstr("message number 2 from rank 0 to rank 1 with tag 7 of group"),
                      HasSubstr("\n    receive by rank 1 at deadlock_test.cpp:"),
                      HasSubstr("\n    no send by rank 0; not received: tag 5 from rank 0 at")));
  }
}

TEST(Deadlock, ShowsTheCycleOfSendsThatWaitForOneAnother) {
  for (const char* schedule : schedules) {
    Outcome outcome = run(
        3,
        [](Rank& rank) {
          ProcessGroup world = ProcessGroup::world();
          Tensor tensor = zeros({1}, DType::float32);
          send(tensor, {.peer = (rank.id() + 1) % 3}, world);
          recv(Dims{1}, DType::float32, {.peer = (rank.id() + 2) % 3}, world);
        },
        schedule);
    ASSERT_FALSE(outcome.ok());
    EXPECT_THAT(report(outcome), HasSubstr("cycle: rank 0 -> rank 1 -> rank 2 -> rank 0"));
  }
}

// If this fails, a person must guess which of several messages is missing.
TEST(Deadlock, NamesPeerAndTagOfMessages) {
  Outcome outcome = run(
      4,
      [](Rank& rank) {
        // Group b has other numbers for its members.
        ProcessGroup group = ProcessGroup::of(RankList::of({3, 1, 0, 2}), "b");
        Tensor tensor = zeros({2}, DType::float32);
        if (rank.id() == 0) send(tensor, {.peer = 0, .tag = 7}, group);
        if (rank.id() == 1) recv(Dims{2}, DType::float32, {.peer = 2, .tag = 8}, group);
        if (rank.id() == 2) recv(Dims{2}, DType::float32, {.tag = 9}, group);
      },
      "fifo");
  ASSERT_FALSE(outcome.ok());
  std::string text = report(outcome);
  for (const char* phrase :
       {"rank 0: waited in send to rank 3, tag 7 of b [3, 1, 0, 2], float32[2], deadlock_test.cpp:",
        "rank 1: waited in receive from rank 0, tag 8 of b [3, 1, 0, 2], float32[2], deadlock_test",
        "rank 2: waited in receive from any rank, tag 9 of b [3, 1, 0, 2], float32[2], deadlock_"})
    EXPECT_THAT(text, HasSubstr(phrase));
}

TEST(Deadlock, ShowsTheCycleOfGroupsThatAreEnteredInOppositeOrder) {
  Outcome outcome = run(
      2,
      [](Rank& rank) {
        ProcessGroup world = ProcessGroup::world();
        ProcessGroup other = ProcessGroup::of(RankList::range(2), "other");
        barrier(rank.id() == 0 ? world : other);
        barrier(rank.id() == 0 ? other : world);
      },
      "fifo");
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(report(outcome), HasSubstr("cycle: rank 0 -> rank 1 -> rank 0"));
}

TEST(Deadlock, AReceiveFromAnySourceThatNobodyServesIsOne) {
  Outcome outcome = run(
      2,
      [](Rank& rank) {
        if (rank.id() == 0) recv(Dims{1}, DType::float32, {}, ProcessGroup::world());
      },
      "fifo");
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(report(outcome), HasSubstr("rank 0 waits for any rank; none is left to send"));
}

}  // namespace
}  // namespace simmesh
