#include "core/engine/seats/fiber_seats.h"

#include <gtest/gtest.h>
#include <set>
#include <thread>

#include "core/engine/world.h"

namespace simmesh {
namespace {

std::set<std::thread::id> threads_of(std::size_t threads) {
  std::vector<std::thread::id> ids(6);
  World world({.ranks = 6, .schedule = Schedule::seeded(1), .threads = threads});
  EXPECT_TRUE(world
                  .run([&](Rank& rank) {
                    rank.yield();
                    ids[rank.id()] = std::this_thread::get_id();
                  })
                  .ok());
  return {ids.begin(), ids.end()};
}

TEST(FiberSeats, RanksShareTheThreadsOfTheWorld) {
  EXPECT_EQ(threads_of(1), std::set{std::this_thread::get_id()});
  std::set<std::thread::id> two = threads_of(2);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_EQ(two.count(std::this_thread::get_id()), 1u);
}

}  // namespace
}  // namespace simmesh
