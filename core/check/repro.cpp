#include <fmt/format.h>

#include <simmesh/core/check/repro.h>

#ifndef SIMMESH_REVISION
#define SIMMESH_REVISION "unknown"
#endif

namespace simmesh {

std::string_view revision() { return SIMMESH_REVISION; }

std::string to_string(const Repro& repro) {
  return fmt::format("reproduce: {} --seed {} --schedule {}   # revision {}", repro.program,
                     repro.seed, repro.schedule, revision());
}

}  // namespace simmesh
