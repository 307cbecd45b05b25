#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

#include "core/engine/reports/outcome.h"

namespace simmesh {

// objects_of_one_rank returns the objects that one rank alone has used in a run, ascending, given
// Outcome::touches. See pos_schedule.
std::vector<std::uint64_t> objects_of_one_rank(gsl::span<const Touch> touches);

}  // namespace simmesh
