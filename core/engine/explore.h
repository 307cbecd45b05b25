#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/engine/reports/outcome.h"
#include "core/engine/world.h"

namespace simmesh {

// Exploration is the result of running a body under every schedule that can matter.
struct Exploration {
  // Schedules that were run to their end, one of each class of equivalent ones; and schedules that
  // were cut short because they were found to be equivalent to another one.
  std::uint64_t classes = 0;
  std::uint64_t cut_short = 0;
  // complete is true if no class is left out.
  bool complete = false;
  // The data hash of all classes; if they differ, of the first one.
  std::uint64_t data_hash = 0;
  bool one_data_hash = true;
  // The first run that failed, or whose data hash differed, with its schedule in choices.
  std::optional<Outcome> first_failure;
  // certificate says why one run stands for all, if it does; else it is empty.
  std::string certificate;

  bool ok() const { return complete && one_data_hash && !first_failure; }
};

// ExploreOptions bounds an exploration.
struct ExploreOptions {
  // The most runs, including those that are cut short. After them the exploration gives up being
  // complete.
  std::uint64_t runs_max = 100'000;
  // The function is asked before each run, with the results so far. False ends the exploration,
  // which then isn't complete. An Interrupt ends it, too.
  std::function<bool(const Exploration& found)> goes_on = nullptr;
};

// explore runs a body under one schedule of each class of equivalent ones: dynamic partial-order
// reduction (Flanagan and Godefroid, POPL 2005) with sleep sets. Two schedules are equivalent if
// they differ only in the order of steps that can't see each other. Collectives and messages from
// named senders never depend on the order. Messages to a receive from any source do, as do
// Work::is_completed and uses of Shared state. Other variables that ranks share, such as captures
// of the body, aren't watched. For small worlds: the number of classes can grow with the factorial
// of the racing steps.
//
//   Exploration found = explore({.ranks = 4}, body);
//   found.certificate;   // "all schedules are equivalent: ..." if one run proves them all
//
// options.schedule is not used. The body runs once per schedule and must not keep state outside the
// World, except in Shared.
Exploration explore(const WorldOptions& options, const std::function<void(Rank&)>& body,
                    const ExploreOptions& limits = {});

}  // namespace simmesh
