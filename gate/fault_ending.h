#pragma once

#include <cstdint>
#include <string>

#include "core/engine/reports/outcome.h"
#include "gate/tables/fault.h"

namespace simmesh {

// expected_ending returns, in words, how a run with a fault has to end; data_hash is that of a run
// without it.
std::string expected_ending(const GateFault& fault, std::uint64_t data_hash);

// is_reported is true if a run with a fault ended as the fault has to end.
bool is_reported(const GateFault& fault, const Outcome& outcome, std::uint64_t data_hash);

}  // namespace simmesh
