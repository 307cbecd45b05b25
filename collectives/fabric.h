#pragma once

#include <cstdint>

#include "collectives/exchange.h"

namespace simmesh {

// fabric_bytes returns the number of bytes that all members together would send for a complete
// exchange on a real fabric, with the algorithms that docs/collectives.md lists: rings for
// all-reduce, all-gather and reduce-scatter, direct sends for the rest.
std::uint64_t fabric_bytes(const Exchange& exchange);

}  // namespace simmesh
