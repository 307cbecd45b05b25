#include "core/engine/run/run_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// If this fails, stacks are made for ranks that have none, or not for all fibers.
TEST(RunResources, HaveAStackForEachFiber) {
  WorldOptions options = checked({.ranks = 3, .deputies = 2});
  RunResources of_fibers(options);
  ASSERT_NE(of_fibers.stacks, nullptr);
  EXPECT_GT(of_fibers.stacks->lower_end(8), of_fibers.stacks->lower_end(0));
  options.ranks_are_threads = true;
  EXPECT_EQ(RunResources(options).stacks, nullptr);
}

// If this fails, a failure's last line runs another program.
TEST(RunResources, KnowTheLineThatReproducesARun) {
  RunResources resources(
      checked({.ranks = 1, .seed = 7, .schedule = Schedule::pct({}), .program = "./train"}));
  EXPECT_THAT(resources.reproduce_line,
              ::testing::HasSubstr("reproduce: ./train --seed 7 --schedule pct:3"));
}

// If this fails, each run of a large world asks the system for its seats' memory again.
TEST(RunResources, LendTheirRoomForSeats) {
  WorldOptions options = checked({.ranks = 50});
  RunResources resources(options);
  World world(options);
  const std::function<void(Rank&)> pass = [](Rank&) {};
  auto run_once = [&] { return simmesh::Run(world, options, resources, pass).run_ranks(); };
  EXPECT_TRUE(run_once().ok());
  EXPECT_TRUE(resources.seats.empty());
  const Seat* room = resources.seats.data();
  EXPECT_NE(room, nullptr);
  EXPECT_TRUE(run_once().ok());
  EXPECT_EQ(resources.seats.data(), room);
}

}  // namespace
}  // namespace simmesh
