#pragma once

#include <cstdint>
#include <string>

namespace simmesh {

// VerifyOptions says how cases run. The words are those of the command line.
struct VerifyOptions {
  std::uint64_t seed = 0;
  std::string schedule = "fifo";
  std::int64_t threads = 1;
  std::string arithmetic = "canonical";
  double timeout_seconds = 60;  // see WorldOptions::timeout_seconds
  std::string trace_file = {};  // see WorldOptions::trace_file
};

}  // namespace simmesh
