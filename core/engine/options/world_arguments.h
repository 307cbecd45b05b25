#pragma once

#include <cstdint>
#include <gsl/span>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/options/world_options.h"

namespace simmesh {

// WorldArguments are the options of a program's runs, as a command line has them. They are those of
// the line `reproduce: ...` of a failed run. A value is the next word, or follows an equals sign.
//
//   --seed N        WorldOptions::seed
//   --schedule S    WorldOptions::schedule, as Schedule::parse reads it; a test takes several
//   --threads N     WorldOptions::threads
//   --timeout S     WorldOptions::timeout_seconds
//   --release R     WorldOptions::release
struct WorldArguments {
  std::optional<std::uint64_t> seed = {};
  std::vector<Schedule> schedules = {};
  std::optional<std::size_t> threads = {};
  std::optional<double> timeout_seconds = {};
  std::optional<Release> release = {};
  // All other words, in their order.
  std::vector<std::string> others = {};

  // parse reads the words after a program's name. Raises a ValueError for a flag without a value
  // and for a value that is out of range.
  static WorldArguments parse(gsl::span<const std::string> words);

  // flags returns the flags of threads, timeout and release, quoted for a shell, each after a
  // blank: those that a repro line doesn't have already.
  std::string flags() const;
};

// world_options_from returns options with those of the arguments of `main`, and the command line as
// the program of the repro line. Any other word ends the process with exit status 2 and one line on
// standard error that names the expected words.
//
//   int main(int argc, char** argv) {
//     World world(world_options_from(argc, argv, {.ranks = 8}));
//   }
//   $ ./my_program --schedule seeded:42 --threads 2
WorldOptions world_options_from(int argc, const char* const* argv, WorldOptions options = {});

// checked_world_options does the same, but raises a ValueError instead of ending the process.
WorldOptions checked_world_options(gsl::span<const std::string> command_line,
                                   WorldOptions options = {});

}  // namespace simmesh
