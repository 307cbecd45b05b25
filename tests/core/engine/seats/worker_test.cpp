#include "core/engine/seats/worker.h"

#include <gtest/gtest.h>
#include <set>
#include <thread>

#include "core/engine/deputy.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// for_schedules calls a function with worlds of five ranks and a deputy each, under FIFO, seeded
// and PCT schedules, on one thread and on two.
template <class Function>
void for_schedules(const Function& function) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"})
    for (std::size_t threads : {1, 2})
      function(WorldOptions{.ranks = 5,
                            .deputies = 1,
                            .schedule = Schedule::parse(schedule),
                            .threads = threads,
                            .stack_bytes = 128 * 1024});
}

bool is_on_stack_of(const Seat& seat, std::size_t stack_bytes) {
  auto here = static_cast<const std::byte*>(__builtin_frame_address(0));
  return here > seat.stack_end && here <= seat.stack_end + stack_bytes;
}

// If this fails, the overflow of one rank is found on another one, or on none.
TEST(Worker, ASeatRunsOnTheStackOfItsNumber) {
  for_schedules([](const WorldOptions& options) {
    std::set<const std::byte*> ends;
    Outcome outcome = World(options).run([&](Rank& rank) {
      auto check = [&](const Rank& own) {
        const Seat& seat = rank.run().seats()[own.id()];
        EXPECT_TRUE(is_on_stack_of(seat, options.stack_bytes));
        rank.run().take_turn(this_rank());
        EXPECT_TRUE(ends.insert(seat.stack_end).second);
      };
      check(rank);
      Deputy::of_this_rank(0).start([&] { check(this_rank()); }).wait();
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
    EXPECT_EQ(ends.size(), 10u);
  });
}

// If this fails, what a program keeps for a thread belongs to another rank after a switch.
TEST(Worker, ASeatStaysOnTheThreadOfItsLane) {
  for_schedules([](const WorldOptions& options) {
    Outcome outcome = World(options).run([&](Rank& rank) {
      std::thread::id thread = std::this_thread::get_id();
      for (int i = 0; i < 3; ++i) {
        rank.yield();
        EXPECT_EQ(std::this_thread::get_id(), thread);
      }
      Deputy::of_this_rank(0).start([=] { EXPECT_EQ(std::this_thread::get_id(), thread); }).wait();
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  });
}

// If this fails, a run ends before its ranks have, or fibers live on after it.
TEST(Worker, ReturnsWhenEveryFiberHasEnded) {
  for_schedules([](const WorldOptions& options) {
    std::atomic<int> alive = 0;
    struct Alive {
      std::atomic<int>& count;
      explicit Alive(std::atomic<int>& all) : count(all) { ++count; }
      ~Alive() { --count; }
    };
    World world(options);
    for (bool fails : {false, true}) {
      Outcome outcome = world.run([&](Rank& rank) {
        Alive own(alive);
        Deputy::of_this_rank(0).start([&alive] {
          Alive of_deputy(alive);
          this_rank().yield();
        });
        rank.yield();
        if (fails && rank.id() == 3) throw std::runtime_error("broken");
        if (fails) rank.run().block(rank, {.operation = "waiting"});
      });
      EXPECT_EQ(outcome.ok(), !fails);
      EXPECT_EQ(alive, 0);
    }
  });
}

// If this fails, the caller's rank isn't the active one after it has run a World.
TEST(Worker, LeavesTheCallersRankActive) {
  for_schedules([](const WorldOptions& options) {
    Outcome outcome = World({.ranks = 2}).run([&](Rank& rank) {
      World(options).run([](Rank& inner) { inner.yield(); });
      EXPECT_EQ(Rank::active(), &rank);
      EXPECT_EQ(Ledger::active(), &rank.ledger());
      rank.yield();
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  });
  EXPECT_EQ(Rank::active(), nullptr);
}

// If this fails, ranks that a folded world doesn't run get a fiber.
TEST(Worker, RunsOnlyTheRanksOfAFoldedWorld) {
  std::atomic<int> bodies = 0;
  World world({.ranks = 100, .threads = 2, .shapes_only = true, .fold = true});
  Outcome outcome = world.run([&](Rank& rank) {
    ++bodies;
    EXPECT_EQ(rank.run().seats()[50].context, nullptr);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(bodies, 2);
}

}  // namespace
}  // namespace simmesh
