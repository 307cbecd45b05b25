#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "core/release/release.h"

namespace simmesh {

// RunOptions are the options that mean the same in every subcommand that runs something.
struct RunOptions {
  std::uint64_t seed = 0;
  std::string schedule = "fifo";
  std::int64_t threads = 1;
  std::string arithmetic = "canonical";
  std::string release;  // empty if it isn't given
  double timeout_seconds = 60;
  std::string trace_file;
  std::int64_t jobs = 1;

  // Runs says what is run, which has an arithmetic and a release of its own if it is a gate, and a
  // release if it is a case.
  enum class Runs { gates, cases };

  // followed_release returns the release that is asked for, nullopt if none is.
  std::optional<Release> followed_release() const {
    return release.empty() ? std::nullopt : std::optional(parse_release(release));
  }

  // add_to adds the options to a subcommand. `jobs_do` says what runs side by side.
  void add_to(CLI::App& app, Runs runs, const std::string& jobs_do) {
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
        ->default_str(runs == Runs::gates ? "the gate's own" : arithmetic);
    app.add_option("--release", release, "the PyTorch whose behaviour is followed: 2.13 or 2.15")
        ->default_str(runs == Runs::gates ? "the gate's own" : "that of each case's source");
    app.add_option(
           "--timeout", timeout_seconds,
           "seconds after which a rank that doesn't give up its turn ends the run; 0: never")
        ->capture_default_str()
        ->check(is_duration, "SECONDS");
    app.add_option("--trace", trace_file,
                   "file for a Chrome trace of the run, also of a failing one")
        ->type_name("OUT.json");
    app.add_option("--jobs", jobs, jobs_do + " that run side by side; changes no result")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t(1), std::int64_t(1024)));
  }

 private:
  // Returns what is wrong with a number of seconds, as CLI11 asks for it.
  static std::string is_duration(const std::string& text) {
    double seconds = -1;
    bool is_number = CLI::detail::lexical_cast(text, seconds);
    if (is_number && seconds >= 0 && std::isfinite(seconds)) return {};
    return "expected seconds, at least 0, got " + text;
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
