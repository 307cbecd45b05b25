#include "core/check/repro.h"

#include <fmt/format.h>

#ifndef SIMMESH_REVISION
#define SIMMESH_REVISION "unknown"
#endif

namespace simmesh {

std::string_view version() { return SIMMESH_VERSION; }

std::string_view revision() { return SIMMESH_REVISION; }

std::string to_string(const Repro& repro) {
  return fmt::format("reproduce: {} --seed {} --schedule {}   # revision {}", repro.program,
                     repro.seed, repro.schedule, revision());
}

}  // namespace simmesh
