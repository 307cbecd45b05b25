#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>

#include "core/engine/world.h"

namespace simmesh {

// run_every_schedule runs a body under FIFO, seeded and PCT schedules, with ranks that are fibers
// of one and of two threads, and with ranks that are threads. All must succeed, give one data hash,
// and leave nothing alive; schedules with the same name must give one schedule hash on all seats.
inline std::uint64_t run_every_schedule(std::size_t ranks, const std::function<void(Rank&)>& body,
                                        std::size_t deputies = 0) {
  struct Seating {
    std::size_t threads;
    bool ranks_are_threads;
  };
  std::optional<std::uint64_t> data_hash;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    std::optional<std::uint64_t> schedule_hash;
    for (auto [threads, ranks_are_threads] : {Seating{1, false}, {2, false}, {1, true}}) {
      World world({.ranks = ranks,
                   .deputies = deputies,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .ranks_are_threads = ranks_are_threads});
      Outcome outcome = world.run(body);
      EXPECT_TRUE(outcome.ok()) << report(outcome);
      EXPECT_EQ(outcome.live_storages, 0);
      if (!data_hash) data_hash = outcome.data_hash;
      if (!schedule_hash) schedule_hash = outcome.schedule_hash;
      EXPECT_EQ(*data_hash, outcome.data_hash)
          << schedule << " with " << threads
          << " threads, ranks are threads: " << ranks_are_threads;
      EXPECT_EQ(*schedule_hash, outcome.schedule_hash)
          << schedule << " with " << threads
          << " threads, ranks are threads: " << ranks_are_threads;
    }
  }
  return *data_hash;
}

}  // namespace simmesh
