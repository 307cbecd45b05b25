#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/store/memory_store.h"
#include "core/engine/world.h"

namespace simmesh::checkpoint::testing {

// background_schedules returns options of worlds in which ranks, writers and copying deputies take
// turns in different orders, on one thread and, if allowed, on two.
inline std::vector<WorldOptions> background_schedules(std::int64_t ranks,
                                                      std::size_t threads_max = 2) {
  std::vector<WorldOptions> worlds;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (std::size_t threads = 1; threads <= threads_max; ++threads)
      worlds.push_back({.ranks = std::size_t(ranks),
                        .deputies = 2,
                        .schedule = Schedule::parse(schedule),
                        .threads = threads});
  return worlds;
}

// run_background runs a body, and expects that it succeeds and leaves nothing behind.
inline Outcome run_background(const WorldOptions& options, const std::function<void()>& body) {
  World world(options);
  Outcome outcome = world.run([&](Rank&) { body(); });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(outcome.live_storages, 0);
  return outcome;
}

// contents returns all files of a store.
inline std::map<std::string, std::vector<std::byte>> contents(const Store& store) {
  std::map<std::string, std::vector<std::byte>> files;
  for (const std::string& path : store.files(""))
    files[path] = read_file(store, path, std::int64_t(1) << 24);
  return files;
}

}  // namespace simmesh::checkpoint::testing
