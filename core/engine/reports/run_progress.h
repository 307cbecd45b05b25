#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace simmesh {

// RunProgress has the progress of something that makes many runs.
struct RunProgress {
  std::string_view what;  // "schedules"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // at most that many
  std::uint64_t failed = 0;
};

// GoesOn is called before each run with the progress, on the calling thread. If it returns false,
// no further run begins.
using GoesOn = std::function<bool(const RunProgress& progress)>;

}  // namespace simmesh
