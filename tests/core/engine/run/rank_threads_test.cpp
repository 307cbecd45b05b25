#include "core/engine/run/rank_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* schedules[] = {"fifo", "seeded:1", "seeded:2", "pct:2", "pct:4"};

WorldOptions of_threads(std::size_t ranks, const char* schedule = "fifo") {
  return {.ranks = ranks,
          .schedule = Schedule::parse(schedule),
          .ranks_are_threads = true,
          .record_choices = true};
}

ThreadWork named(
    std::string name, std::function<void(Rank&)> body = [](Rank&) {}) {
  return {std::move(name), std::move(body)};
}

// Numbers that depended on other ranks would make a schedule mean another one elsewhere.
TEST(RankThreads, NumbersSayWhoseAThreadIs) {
  WorldOptions options = of_threads(3);
  options.deputies = 1;
  RankThreads threads(options);
  EXPECT_EQ(threads.begin(2, named("a")), 8u);
  EXPECT_EQ(threads.begin(0, named("b")), 6u);
  EXPECT_EQ(threads.begin(2, named("c")), 11u);
  EXPECT_EQ(threads.work(11).name, "c");
  EXPECT_THAT(threads.of_rank(2), ElementsAre(8u, 11u));
  threads.end(8);
  EXPECT_THAT(threads.of_rank(2), ElementsAre(11u));
  EXPECT_EQ(threads.begin(2, named("d")), 8u);
  EXPECT_FALSE(RankThreads::is_thread(options, 5));
  EXPECT_TRUE(RankThreads::is_thread(options, 6));
}

TEST(RankThreads, AreBounded) {
  for (std::size_t ranks : {1, 64, 100, 4096}) {
    WorldOptions options = of_threads(ranks);
    std::size_t most = RankThreads::max_of_rank(options);
    EXPECT_GE(most, 4u);
    EXPECT_EQ(RankThreads::seats_max(options), ranks * (1 + most));
    RankThreads threads(options);
    for (std::size_t i = 0; i < most; ++i) threads.begin(0, named("one"));
    expect_error([&] { threads.begin(0, named("more")); }, ErrorKind::runtime_error,
                 "threads of a rank at once, got one more: more");
  }
  EXPECT_EQ(RankThreads::max_of_rank({.ranks = 4}), 0u);
}

// The order of results is the schedule's, so it must not count; their number must.
TEST(RankThreads, ResultsCountInNoOrder) {
  WorldOptions options = of_threads(2);
  RankThreads one(options), other(options), more(options);
  for (std::uint64_t word : {1, 2, 3}) one.add_result(0, word);
  for (std::uint64_t word : {3, 1, 2}) other.add_result(0, word);
  for (std::uint64_t word : {3, 1, 2, 2}) more.add_result(0, word);
  EXPECT_EQ(one.results(0), other.results(0));
  EXPECT_NE(one.results(0), more.results(0));
  EXPECT_EQ(one.results(1), 0u);
}

// A thread that ran without the turn, or twice, would change the record.
TEST(RankThreads, RunWhenTheScheduleSaysSo) {
  for (const char* schedule : schedules) {
    auto run = [&](const Schedule& chosen) {
      WorldOptions options = of_threads(3, schedule);
      options.schedule = chosen;
      return World(options).run([](Rank& rank) {
        for (int i = 0; i < 3; ++i)
          rank.run().start_thread(rank, named("thread", [i](Rank& seat) {
                                    EXPECT_EQ(&this_rank(), &seat);
                                    seat.yield();
                                    seat.run().record_result(seat, std::uint64_t(i));
                                  }));
        rank.yield();
        rank.record(rank.id());
      });
    };
    Outcome first = run(Schedule::parse(schedule));
    EXPECT_TRUE(first.ok()) << report(first);
    EXPECT_EQ(first.data_hash, run(Schedule::fifo()).data_hash);
    Outcome again = run(Schedule::replay(choices_to_string(first.choices)));
    EXPECT_EQ(again.schedule_hash, first.schedule_hash);
  }
}

// A seat that kept what its last thread left would mix two threads' state.
TEST(RankThreads, BeginAfreshOnASeatThatWasUsed) {
  struct Mark {
    int value = 0;
  };
  Outcome outcome = World(of_threads(1)).run([](Rank& rank) {
    for (int i = 0; i < 500; ++i) {
      RankId id = rank.run().start_thread(
          rank, named("again", [](Rank& seat) { EXPECT_EQ(++seat.state<Mark>().value, 1); }));
      EXPECT_EQ(id, 1u);
      rank.yield();
    }
    EXPECT_THAT(rank.run().threads().of_rank(0), IsEmpty());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

TEST(RankThreads, AreNamedInReports) {
  for (const char* schedule : schedules) {
    Outcome outcome = World(of_threads(2, schedule)).run([](Rank& rank) {
      if (rank.id() == 1) return;
      rank.run().start_thread(
          rank, named("loader", [](Rank& seat) { seat.run().block(seat, {.operation = "read"}); }));
      rank.run().block(rank, {.operation = "wait"});
    });
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->kind, Failure::Kind::deadlock);
    EXPECT_THAT(report(outcome), HasSubstr("no rank can run, 2 of 3 have not returned"));
    EXPECT_THAT(report(outcome), HasSubstr("rank 0, thread loader: waited in read"));
  }
}

TEST(RankThreads, AnExceptionIsTheRanksFailure) {
  Outcome outcome = World(of_threads(2)).run([](Rank& rank) {
    if (rank.id() == 1)
      rank.run().start_thread(
          rank, named("bad", [](Rank&) { raise(ErrorKind::value_error, "test", "gave up"); }));
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->rank, 1u);
  EXPECT_THAT(outcome.failure->message, HasSubstr("gave up"));
}

// Threads that wait would otherwise keep the run from ending.
TEST(RankThreads, EndWithTheirRank) {
  for (const char* schedule : schedules) {
    int unwound = 0;
    struct Unwinding {
      int& count;
      ~Unwinding() { ++count; }
    };
    Outcome outcome = World(of_threads(2, schedule)).run([&](Rank& rank) {
      auto waits = [&](Rank& seat) {
        Unwinding unwinding{unwound};
        seat.run().block(seat, {.operation = "wait"});
      };
      auto sleeps = [&](Rank& seat) {
        Unwinding unwinding{unwound};
        seat.sleep(1000);
      };
      auto yields = [&](Rank& seat) {
        Unwinding unwinding{unwound};
        for (int i = 0; i < 1000; ++i) seat.yield();
      };
      rank.run().start_thread(rank, named("waits", waits));
      rank.run().start_thread(rank, named("sleeps", sleeps));
      rank.run().start_thread(rank, named("yields", yields));
      for (int i = 0; i < 20; ++i) rank.yield();
      rank.run().end_threads(rank);
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
    EXPECT_EQ(unwound, 6);
  }
}

TEST(RankThreads, AreRefusedOnFibers) {
  World({.ranks = 1}).run([](Rank& rank) {
    expect_error([&] { rank.run().start_thread(rank, named("none")); }, ErrorKind::runtime_error,
                 "expected a world whose ranks are threads, got fibers");
  });
}

}  // namespace
}  // namespace simmesh
