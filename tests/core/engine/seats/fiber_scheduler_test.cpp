#include "core/engine/seats/fiber_scheduler.h"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <gtest/gtest.h>
#include <thread>

#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

// If this fails, threads pick each other's fibers.
TEST(FiberScheduler, IsOneForEachThread) {
  FiberScheduler& own = FiberScheduler::of_this_thread();
  EXPECT_EQ(&FiberScheduler::of_this_thread(), &own);
  std::thread([&] { EXPECT_NE(&FiberScheduler::of_this_thread(), &own); }).join();
}

// If this fails, a program that has fibers of its own gets stuck when it uses a World, or its
// fibers run between ranks, where no schedule knows of them.
TEST(FiberScheduler, OtherFibersWaitWhileAWorldRuns) {
  std::thread([] {
    FiberScheduler::of_this_thread();
    std::vector<int> order;
    boost::fibers::fiber first([&] { order.push_back(1); });
    boost::fibers::fiber second([&] {
      order.push_back(2);
      boost::this_fiber::yield();
      order.push_back(3);
    });
    for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
      World world({.ranks = 3, .schedule = Schedule::parse(schedule)});
      Outcome outcome = world.run([](Rank& rank) {
        for (int i = 0; i < 3; ++i) rank.yield();
      });
      EXPECT_TRUE(outcome.ok());
    }
    EXPECT_TRUE(order.empty());
    first.join();
    second.join();
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
  }).join();
}

// If this fails, a fiber that runs a World doesn't get its turn back afterwards.
TEST(FiberScheduler, AnyFiberOfAThreadMayRunAWorld) {
  std::thread([] {
    FiberScheduler::of_this_thread();
    std::vector<std::uint64_t> hashes;
    auto run_a_world = [&] {
      World world({.ranks = 4, .schedule = Schedule::seeded(5)});
      for (int i = 0; i < 2; ++i) {
        hashes.push_back(world.run([](Rank& rank) { rank.yield(); }).schedule_hash);
        boost::this_fiber::yield();
      }
    };
    boost::fibers::fiber first(run_a_world), second(run_a_world);
    first.join();
    second.join();
    EXPECT_EQ(hashes, std::vector(4, hashes.at(0)));
  }).join();
}

// If this fails, the ranks of an outer World run while an inner one does, and see a rank stop in
// the middle of its step.
TEST(FiberScheduler, OfNestedWorldsTheInnermostRuns) {
  run_every_schedule(3, [](Rank& rank) {
    std::uint64_t step = rank.run().step();
    World inner({.ranks = 2, .schedule = Schedule::seeded(rank.id())});
    Outcome outcome = inner.run([](Rank& own) {
      own.yield();
      World innermost({.ranks = 2});
      EXPECT_EQ(innermost.run([](Rank& last) { last.yield(); }).steps, 4u);
      own.yield();
    });
    EXPECT_EQ(outcome.steps, 6u);
    if (rank.world().options().threads == 1) {
      EXPECT_EQ(rank.run().step(), step);
    }
    rank.yield();
  });
}

// A seat that ends hands control on without coming back. If this fails, the last rank of a run, or
// one that is alone, never returns to the caller.
TEST(FiberScheduler, ARankMayGoOnAfterItself) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    World world({.ranks = 1, .schedule = Schedule::parse(schedule)});
    for (int run = 0; run < 3; ++run) {
      Outcome outcome = world.run([](Rank& rank) {
        for (int i = 0; i < 5; ++i) rank.yield();
        rank.sleep(1);
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
      EXPECT_EQ(outcome.steps, 7u);
    }
  }
}

}  // namespace
}  // namespace simmesh
