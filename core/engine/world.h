#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/arithmetic/arithmetic.h"
#include "core/clock/device_model.h"
#include "core/engine/fault.h"
#include "core/engine/outcome.h"
#include "core/engine/rank.h"
#include "core/engine/schedule.h"
#include "core/engine/state_map.h"
#include "core/trace/log.h"

namespace simmesh {

// WorldOptions says what a World is. Everything has a default but the ranks, of which there is one.
struct WorldOptions {
  std::size_t ranks = 1;
  std::uint64_t seed = 0;
  Schedule schedule = Schedule::fifo();
  // Ranks are assigned to worker threads by rank modulo threads. The number changes no result and
  // no schedule.
  std::size_t threads = 1;
  Arithmetic arithmetic = Arithmetic::canonical();
  FaultPlan faults = {};
  // Gives each rank a device with streams, a clock and a caching allocator, and checks that streams
  // don't race. Changes no data and no schedule.
  std::optional<DeviceModel> device = {};
  // Address space of a rank's stack. Only pages that are touched use memory.
  std::size_t stack_bytes = 64 * 1024;
  bool record_choices = false;
  std::size_t trace_events_max = 4 * 1024;
  // In a world of shapes only no tensor has elements: schedule, collectives, ledger and events are
  // those of the world with data, as long as the program doesn't ask for a value, which is an
  // error. docs/shapes_only.md has what it can't do.
  bool shapes_only = false;
  // A folded world, of shapes only, runs few ranks that stand for all: those given, else the first
  // and the last. The program must be the same on every rank.
  bool fold = false;
  std::vector<RankId> folded_onto = {};
  Log log = {};
  // The program in a failure's repro line.
  std::string program = "simmesh";
};

// World is the ranks of a run and the engine that runs them, each as a fiber. It may be made inside
// a rank of another World, used on several threads (one World each), and run any number of times:
// each run starts afresh.
//
//   World world({.ranks = 4, .schedule = Schedule::seeded(42)});
//   Outcome outcome = world.run([](Rank& rank) { rank.record(rank.id()); });
class World {
 public:
  // Throws a ValueError for options that make no sense: no ranks, more than 2^24 of them, no
  // threads, a folded world with data, ranks to fold onto that aren't there.
  explicit World(WorldOptions options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // run runs body once on every rank and returns when all have ended. It doesn't throw what the
  // bodies throw: that is the outcome's failure. Not reentrant: a rank may run other Worlds, but
  // not its own.
  Outcome run(const std::function<void(Rank&)>& body);

  const WorldOptions& options() const { return options_; }
  std::size_t ranks() const { return options_.ranks; }
  // runs says whether a rank runs; in a folded world most don't.
  bool runs(RankId rank) const;
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
  std::unique_ptr<Run> run_;
  bool running_ = false;
};

}  // namespace simmesh
