#pragma once

#include "core/ops/random/random.h"

namespace simmesh {

// default_generator returns the generator that modules draw from by default. Each rank has its own,
// which starts with the seed of the World, so that all ranks draw equal numbers; outside any World
// the seed is 0.
Generator& default_generator();

// manual_seed starts the default generator of this rank afresh.
void manual_seed(std::uint64_t seed);

}  // namespace simmesh
