#include "core/engine/reports/run_observer.h"

#include <gtest/gtest.h>

#include "core/engine/reports/run_trace.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

TEST(RunObserver, SeesTheRunsOfItsScopeAlone) {
  World world({.ranks = 2});
  auto body = [](Rank&) {};
  std::vector<std::size_t> events;
  world.run(body);
  {
    RunObserver observer([&](const RunRecords& run) { events.push_back(run.events.size()); });
    EXPECT_EQ(RunObserver::active(), &observer);
    world.run(body);
    RunObserver inner([](const RunRecords&) {});
    world.run(body);
  }
  world.run(body);
  EXPECT_EQ(RunObserver::active(), nullptr);
  EXPECT_EQ(events, std::vector<std::size_t>{2});  // each rank has returned
}

TEST(RunObserver, SeesAFailedRunAndKeepsItsEvents) {
  World world({.ranks = 1});
  bool has_failed = false;
  RunObserver observer([&](const RunRecords& run) { has_failed = !run.outcome.ok(); });
  EXPECT_GE(trace_events_max(world.options()), std::size_t(1) << 20);
  world.run([](Rank&) { throw std::runtime_error("no"); });
  EXPECT_TRUE(has_failed);
}

}  // namespace
}  // namespace simmesh
