#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/ranks/call_contents.h"
#include "core/engine/world.h"

// If one of these fails, ranks add up gradients of different parameters of one size without a word.
namespace simmesh {
namespace {

using ::testing::HasSubstr;

std::string message_of(const std::function<void(Rank&, const ProcessGroup&)>& body,
                       const char* schedule) {
  World world({.ranks = 2, .schedule = Schedule::parse(schedule)});
  Outcome outcome = world.run([&](Rank& rank) { body(rank, ProcessGroup::world()); });
  return outcome.ok() ? "ok" : outcome.failure->message;
}

TEST(ContentsMismatch, NamesBothRanksAndContents) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:2"})
    for (bool is_async : {false, true}) {
      std::string message = message_of(
          [&](Rank& rank, const ProcessGroup& group) {
            CallContents contents(rank.id() == 0 ? "in.weight, expert0.weight"
                                                 : "in.weight, expert1.weight");
            Tensor tensor = zeros({4}, DType::float32);
            if (is_async)
              all_reduce_async(tensor, ReduceOp::sum, group).wait();
            else
              all_reduce(tensor, ReduceOp::sum, group);
          },
          schedule);
      EXPECT_THAT(message, HasSubstr("[collectives/mismatch] collective #0 of group world [0, 1]: "
                                     "the contents differ: rank 0 brings expert0.weight, rank 1 "
                                     "brings expert1.weight: rank 0 calls all_reduce(sum) of "));
    }
}

TEST(ContentsMismatch, OnlyKnownOnesAreCompared) {
  for (const char* schedule : {"fifo", "seeded:1"})
    EXPECT_EQ(message_of(
                  [&](Rank& rank, const ProcessGroup& group) {
                    Tensor tensor = zeros({4}, DType::float32);
                    {
                      CallContents outer("outer");
                      CallContents inner(rank.id() == 0 ? "weight" : "");
                      all_reduce(tensor, ReduceOp::sum, group);
                    }
                    EXPECT_EQ(CallContents::current(), "");
                    all_reduce(tensor, ReduceOp::sum, group);
                  },
                  schedule),
              "ok");
}

}  // namespace
}  // namespace simmesh
