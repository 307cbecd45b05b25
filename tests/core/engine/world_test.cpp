#include "core/engine/world.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>
#include <stdexcept>
#include <thread>

#include "core/check/error.h"
#include "core/engine/options/world_options.h"
#include "core/engine/run/run.h"
#include "core/tensor/tensor.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

void yield(Rank& rank) { rank.yield(); }

// Inlined, it would enlarge the frames of all ranks.
[[gnu::noinline]] void fill_stack(std::size_t bytes) {
  volatile char* frame = static_cast<volatile char*>(__builtin_alloca(bytes));
  for (std::size_t i = 0; i < bytes; ++i) frame[i] = 0;
}

TEST(World, RunsEveryRankUnderEverySchedule) {
  for (std::size_t ranks : {1, 2, 3, 8, 65})
    run_every_schedule(ranks, [](Rank& rank) {
      for (int i = 0; i < 3; ++i) yield(rank);
      rank.record(rank.id());
    });
}

TEST(World, DifferentSchedulesHaveDifferentHashes) {
  auto hash_of = [](const char* schedule) {
    World world({.ranks = 8, .schedule = Schedule::parse(schedule)});
    return world.run([](Rank& rank) { yield(rank); }).schedule_hash;
  };
  EXPECT_NE(hash_of("fifo"), hash_of("seeded:1"));
  EXPECT_NE(hash_of("seeded:1"), hash_of("seeded:2"));
  EXPECT_EQ(hash_of("seeded:1"), hash_of("seeded:1"));
}

TEST(World, RecordedChoicesReplayToTheSameHash) {
  auto body = [](Rank& rank) {
    for (int i = 0; i < 5; ++i) yield(rank);
  };
  World recording({.ranks = 4, .schedule = Schedule::seeded(3), .record_choices = true});
  Outcome first = recording.run(body);
  World replaying({.ranks = 4, .schedule = Schedule::replay(choices_to_string(first.choices))});
  EXPECT_EQ(replaying.run(body).schedule_hash, first.schedule_hash);
  World wrong({.ranks = 4, .schedule = Schedule::replay("0*9")});
  Outcome refused = wrong.run(body);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure->kind, Failure::Kind::schedule);
}

TEST(World, TheFirstFailureInRankOrderIsReportedUnderEverySchedule) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:5", "pct:3"}) {
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = 6, .schedule = Schedule::parse(schedule), .threads = threads});
      Outcome outcome = world.run([](Rank& rank) {
        yield(rank);
        if (rank.id() >= 3) throw std::runtime_error("broken");
        rank.run().take_turn(rank);
        rank.run().block(rank, {.operation = "waiting"});
      });
      ASSERT_FALSE(outcome.ok());
      EXPECT_EQ(outcome.failure->rank, 3u);
      EXPECT_THROW(outcome.rethrow(), std::runtime_error);
      EXPECT_THAT(report(outcome), HasSubstr("rank 3 failed: broken"));
      EXPECT_THAT(report(outcome), HasSubstr("rank 0: waited in waiting"));
      EXPECT_THAT(report(outcome), HasSubstr("rank 5: failed: broken"));
      EXPECT_THAT(report(outcome), HasSubstr("reproduce: simmesh --seed 0 --schedule"));
    }
  }
}

// The frames of ranks that are ended run their destructors.
TEST(World, UnwindingReleasesEverything) {
  World world({.ranks = 4});
  Outcome outcome = world.run([](Rank& rank) {
    Tensor held = zeros({1000}, DType::float32);
    if (rank.id() == 2) throw std::runtime_error("broken");
    rank.run().block(rank, {.operation = "waiting"});
  });
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.live_storages, 0);
}

// If this fails, memory outside the ranks' devices can leak unseen, or is counted against later
// runs.
TEST(World, CountsUnchargedStoragesThatAreLeftAlive) {
  World world({.ranks = 2});
  Tensor left;
  auto leave_one = [&](Rank& rank) {
    Ledger::Uncharged host;
    if (rank.id() == 1) left = zeros({4}, DType::float32);
  };
  EXPECT_EQ(world.run(leave_one).live_storages, 1);
  EXPECT_EQ(world.run([](Rank&) {}).live_storages, 0);
}

// Exceptions that are being handled belong to a fiber, not to the thread.
TEST(World, RanksMayWaitInsideACatchBlock) {
  run_every_schedule(4, [](Rank& rank) {
    try {
      throw std::runtime_error(std::to_string(rank.id()));
    } catch (const std::runtime_error&) {
      for (int i = 0; i < 3; ++i) yield(rank);
      try {
        throw;
      } catch (const std::runtime_error& again) {
        EXPECT_EQ(again.what(), std::to_string(rank.id()));
      }
    }
  });
}

TEST(World, WorldsNest) {
  run_every_schedule(3, [](Rank& rank) {
    World inner({.ranks = 4, .schedule = Schedule::seeded(rank.id())});
    Outcome outcome = inner.run([](Rank& own) {
      yield(own);
      own.record(own.id());
    });
    EXPECT_EQ(this_rank().id(), rank.id());
    rank.record(outcome.data_hash);
    yield(rank);
  });
}

TEST(World, SeveralRunAtOnceInSeveralThreads) {
  std::vector<std::uint64_t> hashes(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < hashes.size(); ++i)
    threads.emplace_back([&hashes, i] {
      World world({.ranks = 16, .schedule = Schedule::seeded(7)});
      for (int repeat = 0; repeat < 50; ++repeat)
        hashes[i] = world.run([](Rank& rank) { yield(rank); }).schedule_hash;
    });
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t hash : hashes) EXPECT_EQ(hash, hashes[0]);
}

TEST(World, IsReusedManyTimes) {
#ifdef SIMMESH_TSAN
  constexpr int runs = 1000;  // each costs the sanitizer milliseconds
#else
  constexpr int runs = 100'000;
#endif
  World world({.ranks = 2});
  std::uint64_t hash = world.run([](Rank& rank) { yield(rank); }).schedule_hash;
  for (int i = 0; i < runs; ++i)
    ASSERT_EQ(world.run([](Rank& rank) { yield(rank); }).schedule_hash, hash);
}

TEST(World, CannotBeRunByItsOwnRank) {
  World world({.ranks = 1});
  Outcome outcome = world.run([&](Rank&) { world.run([](Rank&) {}); });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.failure->message, HasSubstr("not its own"));
}

TEST(World, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(World({.ranks = 0}), Error);
  EXPECT_THROW(World({.ranks = std::size_t(1) << 40}), Error);
  EXPECT_THROW(World({.ranks = 1, .threads = 0}), Error);
  for (double seconds : {-1.0, double(NAN), double(INFINITY)})
    EXPECT_THROW(World({.ranks = 1, .timeout_seconds = seconds}), Error) << seconds;
  EXPECT_THROW(World({.ranks = 1, .stack_bytes = 100}), Error);
  EXPECT_THROW(World({.ranks = 1, .timeout_seconds = -1}), Error);
  EXPECT_THROW(World({.ranks = 1, .timeout_seconds = std::nan("")}), Error);
}

TEST(World, ThisRankIsOnlyThereInsideARun) {
  EXPECT_FALSE(in_rank());
  EXPECT_THROW(this_rank(), Error);
}

// A rank's stack is large enough for ordinary code: regular expressions recurse for each letter.
TEST(World, TheDefaultStackIsEnoughForAnOrdinaryProgram) {
#if defined(SIMMESH_TSAN)
  constexpr std::size_t letters = 1000;  // its frames are larger
#else
  constexpr std::size_t letters = 3000;
#endif
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    std::string text(letters, 'a');
    if (!std::regex_match(text, std::regex("[a-z]*"))) throw std::runtime_error("no match");
    fill_stack(160 * 1024);
    rank.yield();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Without guard pages the gap below a stack takes the overflow: the rank fails with a report, the
// others end in order, and the World can run again.
TEST(World, AnOverflowWithoutGuardPagesHarmsNobody) {
  World world({.ranks = 4, .stack_bytes = 32 * 1024, .guard_pages = false});
  Outcome outcome = world.run([](Rank& rank) {
    if (rank.id() == 1) fill_stack(48 * 1024);
    rank.yield();
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.failure->rank, 1u);
  EXPECT_THAT(outcome.failure->message, HasSubstr("overflowed its stack of 32768 bytes"));
  EXPECT_TRUE(world.run([](Rank& rank) { rank.yield(); }).ok());
}

TEST(World, PoisonMakesElementsThatNobodyWroteNaN) {
  for (bool poison : {false, true}) {
    World world({.ranks = 2, .poison = poison});
    Outcome outcome = world.run([&](Rank& rank) {
      Tensor fresh = empty({3}, DType::float32);
      if (poison && !std::isnan(fresh.values<float>()[2])) throw std::runtime_error("a number");
      rank.record(zeros({2}, DType::float32));
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
}

}  // namespace
}  // namespace simmesh
