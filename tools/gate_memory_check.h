#pragma once

#include <cstdio>
#include <fmt/format.h>

#include "gate/memory.h"

namespace simmesh {

// expect_memory_of raises for a gate that needs more memory than there is, if `worlds` runs are
// made at a time, and prints the need of a large one to standard error.
inline void expect_memory_of(const GateFile& gate, std::int64_t worlds) {
  constexpr std::int64_t gibi = std::int64_t(1) << 30;
  std::int64_t bytes = expect_memory(gate, worlds);
  if (bytes >= gibi)
    std::fputs(fmt::format("simmesh: {} needs about {:.1f} GiB of memory\n", gate.file,
                           double(bytes) / double(gibi))
                   .c_str(),
               stderr);
}

}  // namespace simmesh
