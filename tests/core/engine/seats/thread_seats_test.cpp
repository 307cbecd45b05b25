#include "core/engine/seats/thread_seats.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>

#include "core/engine/explore.h"
#include "core/engine/run/run.h"
#include "core/engine/run/shared.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

WorldOptions threads(std::size_t ranks, const char* schedule = "fifo") {
  return {.ranks = ranks, .schedule = Schedule::parse(schedule), .ranks_are_threads = true};
}

// Were two ranks to run at once, the counter would be seen between its halves.
TEST(ThreadSeats, OneRankRunsAtATimeOnAThreadOfItsOwn) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    std::atomic<int> running = 0;
    std::vector<std::thread::id> ids(8);
    World world(threads(8, schedule));
    Outcome outcome = world.run([&](Rank& rank) {
      ids[rank.id()] = std::this_thread::get_id();
      for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(++running, 1);
        EXPECT_EQ(&this_rank(), &rank);
        EXPECT_EQ(ids[rank.id()], std::this_thread::get_id());
        --running;
        rank.yield();
      }
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
    std::set<std::thread::id> different(ids.begin(), ids.end());
    EXPECT_EQ(different.size(), 8u);
    EXPECT_EQ(different.count(std::this_thread::get_id()), 0u);
  }
}

// Caches that a program keeps for a thread must be warm in the next run.
TEST(ThreadSeats, ARankGetsTheSameThreadInEveryRun) {
  std::vector<std::vector<std::thread::id>> runs;
  for (int run = 0; run < 20; ++run) {
    World world(threads(4, "seeded:5"));
    runs.emplace_back(4);
    world.run([&](Rank& rank) { runs.back()[rank.id()] = std::this_thread::get_id(); });
  }
  EXPECT_THAT(runs, Each(runs.front()));
}

TEST(ThreadSeats, GiveTheScheduleOfFibers) {
  auto body = [](Rank& rank) {
    for (std::uint32_t i = 0; i < 3 + rank.id(); ++i) rank.yield();
    rank.record(rank.id());
  };
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:2", "pct:4"}) {
    WorldOptions options = threads(6, schedule);
    options.record_choices = true;
    Outcome on_threads = World(options).run(body);
    options.ranks_are_threads = false;
    Outcome on_fibers = World(options).run(body);
    EXPECT_EQ(on_threads.schedule_hash, on_fibers.schedule_hash);
    EXPECT_EQ(on_threads.data_hash, on_fibers.data_hash);
    EXPECT_EQ(on_threads.choices, on_fibers.choices);
  }
}

TEST(ThreadSeats, AFailureUnwindsTheOthers) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    std::atomic<int> unwound = 0;
    struct Unwinding {
      std::atomic<int>& count;
      ~Unwinding() { ++count; }
    };
    World world(threads(4, schedule));
    Outcome outcome = world.run([&](Rank& rank) {
      Unwinding unwinding{unwound};
      if (rank.id() == 2) throw std::runtime_error("out of paper");
      rank.run().block(rank, {.operation = "print"});
    });
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.failure->rank, 2u);
    EXPECT_THAT(report(outcome), HasSubstr("out of paper"));
    EXPECT_THAT(report(outcome), HasSubstr("rank 3: waited in print"));
    EXPECT_EQ(unwound, 4);
  }
}

TEST(ThreadSeats, ADeadlockIsReportedAtOnce) {
  Outcome outcome = World(threads(3)).run([](Rank& rank) {
    if (rank.id() != 1) rank.run().block(rank, {.operation = "wait"});
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->kind, Failure::Kind::deadlock);
  EXPECT_THAT(report(outcome), HasSubstr("no rank can run, 2 of 3 have not returned"));
}

TEST(ThreadSeats, TheExplorerTriesEveryOrder) {
  std::set<std::uint64_t> hashes;
  WorldOptions options = threads(3);
  Exploration found = explore(options, [&](Rank& rank) {
    static int value;
    if (rank.id() == 0) value = 0;
    Shared<int> shared("value", 0);
    shared.use([&](int&) { value = 10 * value + int(rank.id()) + 1; });
    if (value > 99) hashes.insert(std::uint64_t(value));
  });
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.classes, 6u);
}

TEST(ThreadSeats, RanksRunWorldsOfTheirOwnOnEitherSeats) {
  Outcome outcome = World(threads(3, "seeded:2")).run([](Rank& rank) {
    for (bool inner_threads : {false, true}) {
      WorldOptions options = threads(2);
      options.ranks_are_threads = inner_threads;
      Outcome inner = World(options).run([](Rank& inner_rank) { inner_rank.yield(); });
      EXPECT_TRUE(inner.ok());
      EXPECT_EQ(&this_rank(), &rank);
      rank.yield();
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

TEST(ThreadSeats, RefuseMoreRanksThanThreadsAndSeveralWorkers) {
  EXPECT_THROW(World(threads(100'000)), Error);
  WorldOptions options = threads(2);
  options.threads = 2;
  EXPECT_THROW(World{options}, Error);
}

TEST(ThreadSeats, AForkedChildHasThreadsOfItsOwn) {
  World(threads(2)).run([](Rank& rank) { rank.yield(); });
  pid_t child = fork();
  if (child == 0) {
    Outcome outcome = World(threads(2)).run([](Rank& rank) { rank.yield(); });
    _exit(outcome.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class Host final : public ThreadHost {
 public:
  explicit Host(Verdict verdict) : verdict_(verdict) {}

  Verdict look(const Turn& turn) override {
    if (turn.kept_for.count() < 0.05) return Verdict::go_on;
    rank_ = turn.rank;
    others_ = turn.run.describe_ranks(turn.rank);
    released = true;
    return verdict_;
  }

  RankId rank_ = no_rank;
  std::string others_;
  std::atomic<bool> released = false;

 private:
  Verdict verdict_;
};

TEST(ThreadSeats, TheHostCanInterruptARun) {
  Host host(ThreadHost::Verdict::interrupt);
  WorldOptions options = threads(2);
  options.thread_host = &host;
  Outcome outcome = World(options).run([&](Rank& rank) {
    if (rank.id() == 1) rank.run().block(rank, {.operation = "nap"});
    while (!host.released) std::this_thread::yield();
    rank.yield();
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_TRUE(outcome.was_interrupted());
}

// The rank that kept its turn goes on later, and stops where it would give the turn up.
TEST(ThreadSeats, TheHostCanGiveUpARun) {
  static Host host(ThreadHost::Verdict::give_up);
  static std::atomic<bool> goes_on = false, came_back = false;
  WorldOptions options = threads(2, "seeded:1");
  options.thread_host = &host;
  auto* world = new World(options);  // must not be destroyed
  auto body = [](Rank& rank) {
    if (rank.id() == 1) rank.run().block(rank, {.operation = "nap"});
    while (!goes_on) std::this_thread::yield();
    rank.yield();
    came_back = true;
  };
  EXPECT_THROW(world->run(body), RunGivenUp);
  EXPECT_EQ(host.rank_, 0u);
  EXPECT_THAT(host.others_, HasSubstr("rank 1: "));
  goes_on = true;
  Outcome next = World(threads(2)).run([](Rank& rank) { rank.yield(); });
  EXPECT_TRUE(next.ok());
  EXPECT_FALSE(came_back);
}

}  // namespace
}  // namespace simmesh
