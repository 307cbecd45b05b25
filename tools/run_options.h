#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace simmesh {

// RunOptions are the options that mean the same in every subcommand that runs something.
struct RunOptions {
  std::uint64_t seed = 0;
  std::string schedule = "fifo";
  std::int64_t threads = 1;
  std::string arithmetic = "canonical";

  void add_to(CLI::App& app) {
    app.add_option("--seed", seed, "seed of schedules and random streams")->capture_default_str();
    app.add_option("--schedule", schedule,
                   "which rank runs next: fifo, seeded, seeded:N, pct:D or replay:FILE")
        ->capture_default_str();
    app.add_option("--threads", threads, "number of worker threads; changes no result")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t(1), std::int64_t(1024)));
    app.add_option("--arithmetic", arithmetic,
                   "how sums add up: canonical, exact, rank_order, as_nccl_ring, as_nccl_tree or "
                   "as_gloo_ring")
        ->capture_default_str();
  }
};

// OutputOptions say how a subcommand prints its results.
struct OutputOptions {
  bool json = false;
  bool quiet = false;

  void add_to(CLI::App& app) {
    app.add_flag("--json", json, "print the results as one JSON object");
    app.add_flag("--quiet", quiet, "print the last line only");
  }
};

}  // namespace simmesh
