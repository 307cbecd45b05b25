#pragma once

#include <gsl/span>
#include <string>

#include "core/engine/options/world_arguments.h"

namespace simmesh::testing {

// TestRequest are the options that the command line of a test program sets for every SIMMESH_TEST
// in it, beside GoogleTest's flags. A failed test prints the command line that runs its schedule
// again.
//
//   $ ./my_test --gtest_filter=Suite.name --threads 2 --seed 1 --schedule seeded:5
//
// GoogleTest's own main function passes no arguments on, so they are read from the system.
struct TestRequest {
  std::string program = "simmesh test";
  WorldArguments arguments = {};

  // of_words reads a command line; raises as WorldArguments::parse does.
  static TestRequest of_words(gsl::span<const std::string> words);
  // of_this_process reads the command line of this process.
  static TestRequest of_this_process();

  // command returns the command line that runs a single test, up to the seed.
  std::string command(const std::string& test) const;
};

}  // namespace simmesh::testing
