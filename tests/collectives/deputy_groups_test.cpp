#include <gmock/gmock.h>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/engine/deputy.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::AllOf;
using testing::error_text;
using ::testing::HasSubstr;

Tensor sum_of_crew(double value) {
  return all_reduce(full({2}, DType::float32, value), ReduceOp::sum, ProcessGroup::world());
}

// Crews and ranks have collectives of their own, which overlap under every schedule.
TEST(DeputyGroups, EachCrewIsAWorldOfItsOwn) {
  run_every_schedule(
      3,
      [](Rank& rank) {
        auto sums = std::make_shared<std::vector<Tensor>>(2);
        std::vector<DeputyTask> tasks;
        for (std::size_t deputy : {0, 1})
          tasks.push_back(Deputy::of_this_rank(deputy).start([sums, deputy, id = rank.id()] {
            ProcessGroup crew = ProcessGroup::world();
            EXPECT_EQ(crew.rank(), std::int64_t(id));
            EXPECT_EQ(crew.size(), 3);
            (*sums)[deputy] = sum_of_crew(deputy == 0 ? 10 : 100);
          }));
        EXPECT_TRUE(same_bits(sum_of_crew(1), full({2}, DType::float32, 3)));
        for (const DeputyTask& task : tasks) task.wait();
        EXPECT_TRUE(same_bits((*sums)[0], full({2}, DType::float32, 30)));
        EXPECT_TRUE(same_bits((*sums)[1], full({2}, DType::float32, 300)));
      },
      2);
}

// A member of a crew is gone, and the others would wait for it for ever. Ranks that wait for those
// get an error, and may continue.
TEST(DeputyGroups, WhoWaitsForALostDeputyIsTold) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      std::vector<std::string> errors(3);
      World world({.ranks = 3,
                   .deputies = 1,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .faults = {Fault::kill({.rank = 4, .operation = 1})}});
      Outcome outcome = world.run([&](Rank& rank) {
        errors[rank.id()] =
            error_text([] { Deputy::of_this_rank(0).start([] { sum_of_crew(1); }).wait(); });
        EXPECT_TRUE(same_bits(sum_of_crew(1), full({2}, DType::float32, 3)));
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
      EXPECT_THAT(errors[1], HasSubstr("deputy 0 of rank 1 was killed (injected)"));
      for (std::size_t rank : {0, 2})
        EXPECT_THAT(errors[rank],
                    AllOf(HasSubstr(fmt::format("deputy 0 of rank {} can't go on", rank)),
                          HasSubstr("deputy 0 of rank 1 has failed")));
    }
}

// A crew whose members have all failed and gone on is whole: what hangs later is a deadlock, and
// isn't blamed on that failure.
TEST(DeputyGroups, AnOldFailureIsNotBlamed) {
  World world({.ranks = 2, .deputies = 1});
  Outcome outcome = world.run([](Rank& rank) {
    auto fail = [] { raise(ErrorKind::value_error, "test", "no good"); };
    EXPECT_THROW(Deputy::of_this_rank(0).start(fail).wait(), Error);
    if (rank.id() == 0) Deputy::of_this_rank(0).start([] { sum_of_crew(1); }).wait();
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->kind, Failure::Kind::deadlock);
}

// Deputies that wait for one another are a deadlock like any other, with their names.
TEST(DeputyGroups, ADeadlockOfDeputiesIsReported) {
  World world({.ranks = 2, .deputies = 1});
  Outcome outcome = world.run([](Rank& rank) {
    if (rank.id() == 0) Deputy::of_this_rank(0).start([] { sum_of_crew(1); }).wait();
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(report(outcome),
              AllOf(HasSubstr("[engine/deadlock]"),
                    HasSubstr("deputy 0 of rank 0: waited in all_reduce #0 of deputies 0 [2, 3]"),
                    HasSubstr("rank 0: waited in wait"), HasSubstr("rank 1: had returned")));
}

// Ranks and deputies, or two crews, never share a group.
TEST(DeputyGroups, CrewsDontMix) {
  World world({.ranks = 2, .deputies = 1});
  Outcome outcome = world.run([](Rank& rank) {
    auto refuses = [](std::int64_t self, std::int64_t other) {
      EXPECT_THROW(ProcessGroup::of(RankList::of({self, other})), Error);
    };
    refuses(rank.id(), 2);
    Deputy::of_this_rank(0).start([&, id = rank.id()] { refuses(id + 2, 0); }).wait();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
