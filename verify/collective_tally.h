#pragma once

#include <array>
#include <cstdint>
#include <gsl/span>
#include <map>
#include <string>

#include "collectives/collective_call.h"
#include "core/engine/ranks/rank.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// CollectiveTally is the number of collectives of each kind that a rank issued, by name, without
// the kinds that it issued none of.
using CollectiveTally = std::map<std::string, std::int64_t>;

// TalliedOps selects the counted kinds: those of redistributions, or those of any call, which may
// also broadcast one rank's data.
using TalliedOps = gsl::span<const CollectiveOp>;
inline constexpr CollectiveOp redistribution_collectives[] = {
    CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
    CollectiveOp::all_to_all};
inline constexpr CollectiveOp call_collectives[] = {
    CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
    CollectiveOp::all_to_all, CollectiveOp::broadcast,  CollectiveOp::scatter};

// tally_since counts those that the rank has issued since its counters were `before`.
CollectiveTally tally_since(const std::array<std::uint32_t, Rank::counter_count>& before,
                            Rank& rank, TalliedOps ops = redistribution_collectives);

// tally_schema is a case's {"all_gather": 1, ...}, without the kinds of which there is none.
Schema tally_schema(TalliedOps ops = redistribution_collectives);

// read_tally reads it; a count of 0 is left out.
CollectiveTally read_tally(const CaseField& field);

// without_zeros leaves out the kinds of which there is none.
CollectiveTally without_zeros(CollectiveTally tally);

}  // namespace simmesh
