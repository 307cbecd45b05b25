#pragma once

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "replay/run/replay_job.h"
#include "replay/run/serial_oracle.h"

namespace simmesh::replay::samples {

// expect_replays runs a program under FIFO, seeded and PCT schedules with one and two threads. All
// must have the oracle's outputs, give one data hash and leave nothing alive. Returns the number of
// outputs for which the oracle has an answer.
inline std::size_t expect_replays(const ReplayProgram& program, ReplayJobOptions options = {}) {
  options.run.keeps_outputs = true;
  auto expected = serial_oracle(program, meetings_of(program),
                                {.payload = options.run.payload,
                                 .arithmetic = options.world.arithmetic,
                                 .keeps_outputs = true});
  std::optional<std::uint64_t> data_hash;
  std::size_t compared = 0;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    for (std::size_t threads : {1, 2}) {
      options.world.schedule = Schedule::parse(schedule);
      options.world.threads = threads;
      JobReplay replay = replay_job(program, options);
      EXPECT_TRUE(replay.outcome.ok()) << report(replay.outcome);
      EXPECT_EQ(replay.outcome.live_storages, 0);
      compared = 0;
      EXPECT_EQ(differences(program, expected, replay.outputs, &compared),
                std::vector<std::string>());
      if (!data_hash) data_hash = replay.outcome.data_hash;
      EXPECT_EQ(replay.outcome.data_hash, *data_hash) << schedule;
    }
  }
  return compared;
}

}  // namespace simmesh::replay::samples
