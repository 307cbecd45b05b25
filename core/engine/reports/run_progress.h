#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace simmesh {

// RunProgress says how far something that makes many runs has come.
struct RunProgress {
  std::string_view what;  // "schedules"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // at most so many
  std::uint64_t failed = 0;
};

// GoesOn is told before each run how far it came, on the calling thread. If it returns false, no
// further run begins.
using GoesOn = std::function<bool(const RunProgress& progress)>;

}  // namespace simmesh
