#pragma once

#include "core/ops/random/random.h"

namespace simmesh {

// default_generator returns the generator that modules draw from where none is given: one a rank,
// equal on all ranks of a World, whose seed it has; seed 0 outside any World.
Generator& default_generator();

// manual_seed starts the default generator of this rank afresh.
void manual_seed(std::uint64_t seed);

}  // namespace simmesh
