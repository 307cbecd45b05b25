#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/release/release.h"

namespace simmesh {

// RunWords are the options of worlds, in the words of the command line: those that mean the same in
// every subcommand of `simmesh`. Without an arithmetic or a release, the program that is run has
// its own.
struct RunWords {
  std::uint64_t seed = 0;
  std::string schedule = "fifo";
  std::int64_t threads = 1;
  std::optional<std::string> arithmetic = {};
  std::optional<Release> release = {};
  double timeout_seconds = 60;  // see WorldOptions::timeout_seconds
  std::string trace_file = {};  // see WorldOptions::trace_file
};

// flags returns the words that reproduce a run, those that differ from the defaults, each after a
// blank and quoted for a shell: " --seed 7 --schedule pct:3".
std::string flags(const RunWords& words);

}  // namespace simmesh
