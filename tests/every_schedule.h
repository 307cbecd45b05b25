#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>

#include "core/engine/world.h"

namespace simmesh {

// run_every_schedule runs a body under FIFO, seeded and PCT schedules with one and two threads. All
// must succeed, give one data hash, and leave nothing alive; schedules with the same name must give
// one schedule hash for any number of threads.
inline std::uint64_t run_every_schedule(std::size_t ranks, const std::function<void(Rank&)>& body,
                                        std::size_t deputies = 0) {
  std::optional<std::uint64_t> data_hash;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    std::optional<std::uint64_t> schedule_hash;
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = ranks,
                   .deputies = deputies,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads});
      Outcome outcome = world.run(body);
      EXPECT_TRUE(outcome.ok()) << report(outcome);
      EXPECT_EQ(outcome.live_storages, 0);
      if (!data_hash) data_hash = outcome.data_hash;
      if (!schedule_hash) schedule_hash = outcome.schedule_hash;
      EXPECT_EQ(*data_hash, outcome.data_hash) << schedule << " with " << threads << " threads";
      EXPECT_EQ(*schedule_hash, outcome.schedule_hash) << schedule << " with " << threads;
    }
  }
  return *data_hash;
}

}  // namespace simmesh
