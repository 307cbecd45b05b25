#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/reports/outcome.h"
#include "core/engine/world.h"

namespace simmesh {

// Exploration is the result of running a body under every schedule that can matter.
struct Exploration {
  // Schedules that were run, one of each class of equivalent ones.
  std::uint64_t classes = 0;
  // Runs that count for nothing. They are those that were made before a run showed that the order
  // of more operations matters than was known; then the exploration starts again. A run is never
  // cut short.
  std::uint64_t given_up = 0;
  // complete is true if no class is left out. estimate says how many classes there are: exact once
  // the exploration is complete, before that from the shape of the part that was explored.
  bool complete = false;
  double estimate = 0;
  // The data hash of all classes; if they differ, of the first one, which all others are compared
  // with.
  std::uint64_t data_hash = 0;
  bool one_data_hash = true;
  // A run that failed, or whose data hash differed: the one whose class is reached by the shortest
  // order of events. Its schedule is in choices and in repro.
  std::optional<Outcome> first_failure;
  // certificate says why one run stands for all, if it does; else it is empty.
  std::string certificate;

  bool ok() const { return complete && one_data_hash && !first_failure; }
};

// ExploreOptions bounds an exploration.
struct ExploreOptions {
  // The most classes. After them the exploration gives up being complete.
  std::uint64_t runs_max = 100'000;
  // The function is asked again and again, with the results so far. False ends the exploration,
  // which then isn't complete. An Interrupt ends it, too.
  std::function<bool(const Exploration& found)> goes_on = nullptr;
  // Worlds that run side by side, each on a thread of its own. Changes no result.
  std::size_t jobs = 1;
  // The exploration makes one of so many shards, counted from 1, which need nothing of one another.
  // All together they find what the whole exploration finds.
  std::uint64_t shard = 1;
  std::uint64_t shards = 1;
  // The file that has the state of the exploration while it goes on and at its end; empty for none.
  // If it is there, the exploration goes on from it. The number of the program tells whether the
  // file is one of the same program.
  std::string file = {};
  std::uint64_t program = 0;
  // The files of all shards, to begin with what they have found. What they left is run too.
  std::vector<std::string> merged = {};
};

// explore runs a body under one schedule of each class of equivalent ones, each exactly once. Two
// schedules are equivalent if they differ only in the order of steps that can't see each other.
// Collectives and messages from named senders never depend on the order. Messages to a receive from
// any source do, as do Work::is_completed, waits whose deadline comes, and uses of Shared state.
// Other variables that ranks share, such as captures of the body, aren't watched. The number of
// classes can grow with the factorial of the racing steps; the memory doesn't grow with it.
//
//   Exploration found = explore({.ranks = 4}, body);
//   found.certificate;   // "all schedules are equivalent: ..." if one run proves them all
//
// options.schedule is not used. The body runs once per schedule and must not keep state outside the
// World, except in Shared. With several jobs it is called on several threads at once. Raises a
// ValueError for a file that is no state of this exploration.
Exploration explore(const WorldOptions& options, const std::function<void(Rank&)>& body,
                    const ExploreOptions& limits = {});

// MakeBody makes the body of a thread of its own.
using MakeBody = std::function<std::function<void(Rank&)>()>;

// explore_each does the same with a body for each of the jobs, for bodies that keep state.
Exploration explore_each(const WorldOptions& options, const MakeBody& make_body,
                         const ExploreOptions& limits = {});

}  // namespace simmesh
