#pragma once

#include <cstdint>

#include "core/arithmetic/sums/carried_sums.h"

namespace simmesh {

// scaled returns sums times a finite factor, exactly. An infinity stays what it is but for its
// sign.
CarriedSums scaled(const CarriedSums& sums, double factor);

// divided returns sums over a finite divisor other than 0, exactly: nothing is divided before a
// value is asked for. can_be_divided says whether that can be kept: the odd parts of all divisors
// together stay within 2^53.
CarriedSums divided(const CarriedSums& sums, double divisor);
bool can_be_divided(const CarriedSums& sums, double divisor);

// over_one returns sums times a multiple of their divisor, so that they have none.
CarriedSums over_one(const CarriedSums& sums, std::int64_t multiple);

}  // namespace simmesh
