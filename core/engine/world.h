#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/engine/options/world_options.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/ranks/state_map.h"
#include "core/engine/reports/outcome.h"

namespace simmesh {

struct RunResources;

// World is the ranks of a run and the engine that runs them, each as a fiber. It may be made inside
// a rank of another World, used on several threads (one World each), and run any number of times:
// each run starts afresh.
//
//   World world({.ranks = 4, .schedule = Schedule::seeded(42)});
//   Outcome outcome = world.run([](Rank& rank) { rank.record(rank.id()); });
class World {
 public:
  // Raises a ValueError for options that are out of range, as checked does.
  explicit World(WorldOptions options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // run runs body once on every rank and returns when all have ended. It doesn't raise the errors
  // of the bodies: the first one is the outcome's failure. Not reentrant: a rank may run other
  // Worlds, but not its own.
  Outcome run(const std::function<void(Rank&)>& body);

  const WorldOptions& options() const { return options_; }
  std::size_t ranks() const { return options_.ranks; }
  // representatives returns the ranks that a folded world runs, ascending; empty where all run.
  const std::vector<RankId>& representatives() const { return options_.folded_onto; }

  // state keeps a value of type T over runs, for caches that results don't depend on. Call it from
  // ranks that have the turn.
  template <class T>
  T& state() {
    return states_.get<T>();
  }

 private:
  WorldOptions options_;
  StateMap states_;
  std::unique_ptr<RunResources> resources_;  // from the first run on
  bool running_ = false;
};

}  // namespace simmesh
