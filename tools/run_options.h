#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "core/check/write_file.h"
#include "core/engine/options/arithmetic.h"
#include "core/engine/options/run_words.h"
#include "core/engine/schedules/schedule.h"
#include "tools/whole_number.h"

namespace simmesh {

// RunOptions are the options with the same meaning in every subcommand that runs something.
class RunOptions {
 public:
  std::int64_t jobs = 1;

  // Runs is the kind of runs: a gate has an arithmetic and a release of its own, and a case has a
  // release.
  enum class Runs { gates, cases, traces };

  // words returns the given options. Raises a ValueError for an unknown schedule, arithmetic or
  // release, and for a trace file that can't be written.
  RunWords words() const {
    RunWords words = words_;
    Schedule::parse(words.schedule);
    if (words.arithmetic) Arithmetic::parse(*words.arithmetic);
    if (!release_.empty()) words.release = parse_release(release_);
    if (!words.trace_file.empty()) expect_writable(words.trace_file, "the trace");
    return words;
  }

  // add_to adds the options to a subcommand. `jobs_do` says what runs side by side.
  void add_to(CLI::App& app, Runs runs, const std::string& jobs_do) {
    app.add_option("--seed", words_.seed, "seed of schedules and random streams")
        ->capture_default_str()
        ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
    app.add_option("--schedule", words_.schedule,
                   "which rank runs next: fifo, seeded, seeded:N, pct:D or replay:FILE")
        ->capture_default_str();
    app.add_option("--threads", words_.threads, "number of worker threads; changes no result")
        ->capture_default_str()
        ->check(whole_number(1, 1024));
    app.add_option("--arithmetic", words_.arithmetic,
                   "how sums add up: canonical, exact, rank_order, as_nccl_ring, as_nccl_tree or "
                   "as_gloo_ring")
        ->default_str(runs == Runs::gates ? "the gate's own" : "canonical");
    app.add_option("--release", release_, "the PyTorch whose behaviour is followed: 2.13 or 2.15")
        ->default_str(default_release(runs));
    app.add_option(
           "--timeout", words_.timeout_seconds,
           "seconds after which a rank that doesn't give up its turn ends the run; 0: never")
        ->capture_default_str()
        ->check(is_duration, "SECONDS");
    app.add_option("--trace", words_.trace_file,
                   "file for a Chrome trace of the run, also of a failing one")
        ->type_name("OUT.json");
    app.add_option("--jobs", jobs, jobs_do + " that run side by side; changes no result")
        ->configurable(false)
        ->capture_default_str()
        ->check(whole_number(1, 1024));
  }

 private:
  RunWords words_;
  std::string release_;

  static std::string default_release(Runs runs) {
    if (runs == Runs::traces) return std::string(to_string(newest_release));
    return runs == Runs::gates ? "the gate's own" : "that of each case's source";
  }

  // Returns the error in a number of seconds, in the form that CLI11 asks for.
  static std::string is_duration(const std::string& text) {
    double seconds = -1;
    bool is_number = CLI::detail::lexical_cast(text, seconds);
    if (is_number && seconds >= 0 && std::isfinite(seconds)) return {};
    return "expected seconds, at least 0, got " + text;
  }
};

// OutputOptions are how a subcommand prints its results.
struct OutputOptions {
  bool json = false;
  bool quiet = false;

  void add_to(CLI::App& app) {
    app.add_flag("--json", json, "print the results as one JSON object")->configurable(false);
    app.add_flag("--quiet", quiet, "print the last line only")->configurable(false);
  }
};

}  // namespace simmesh
