// Prints the table of docs/scheduler.md: the median number of runs, over 50 seeds, after which each
// policy has found each injected bug.
#include <fmt/core.h>

#include "tests/collectives/injected_bugs.h"

int main() {
  constexpr std::uint64_t seeds = 50, runs_max = 10'000;
  const std::vector<std::string> policies = {"random", "pct", "pos", "walk"};
  fmt::print("| bug | random | pct | pos | walk |\n| --- | --- | --- | --- | --- |\n");
  for (const auto& bug : simmesh::testing::injected_bugs()) {
    fmt::print("| {} |", bug.name);
    for (const std::string& policy : policies)
      fmt::print(" {} |", simmesh::testing::BugHunt{bug, policy}.median_of(seeds, runs_max));
    fmt::print("\n");
  }
}
