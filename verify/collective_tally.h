#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "core/engine/rank.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// CollectiveTally is how many collectives of each kind a rank issued, by name, without the kinds
// that it issued none of.
using CollectiveTally = std::map<std::string, std::int64_t>;

// tally_since counts the all-reduces, all-gathers, reduce-scatters and all-to-alls that the rank
// has issued since its counters were `before`.
CollectiveTally tally_since(const std::array<std::uint32_t, Rank::counter_count>& before,
                            Rank& rank);

// tally_schema is a case's {"all_gather": 1, ...}, without the kinds of which there is none.
Schema tally_schema();

// read_tally reads it; a count of 0 is left out.
CollectiveTally read_tally(const CaseField& field);

// without_zeros leaves out the kinds of which there is none.
CollectiveTally without_zeros(CollectiveTally tally);

}  // namespace simmesh
