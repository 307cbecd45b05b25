#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "core/engine/rank.h"
#include "verify/recorded_case.h"

namespace simmesh {

// CollectiveTally is how many collectives of each kind a rank issued, by name, without the kinds
// that it issued none of.
using CollectiveTally = std::map<std::string, std::int64_t>;

// tally_since counts the all-reduces, all-gathers, reduce-scatters and all-to-alls that the rank
// has issued since its counters were `before`.
CollectiveTally tally_since(const std::array<std::uint32_t, Rank::counter_count>& before,
                            Rank& rank);

// read_tally reads a case's {"all_gather": 1, ...}.
CollectiveTally read_tally(const CaseField& field);

}  // namespace simmesh
