#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/release/release.h"

namespace simmesh {

// VerifyOptions says how cases run. The words are those of the command line.
struct VerifyOptions {
  std::uint64_t seed = 0;
  std::string schedule = "fifo";
  std::int64_t threads = 1;
  std::string arithmetic = "canonical";
  std::optional<Release> release = {};  // without it, that of the case's source
  double timeout_seconds = 60;          // see WorldOptions::timeout_seconds
  std::string trace_file = {};          // see WorldOptions::trace_file
};

}  // namespace simmesh
