#pragma once

#include <cstdint>

#include "core/arithmetic/sums/carried_sums.h"

namespace simmesh {

// scaled returns sums times a finite factor, exactly. An infinity only takes the factor's sign.
CarriedSums scaled(const CarriedSums& sums, double factor);

// divided returns sums over a finite divisor other than 0, exactly: the division happens when a
// value is rounded. can_be_divided is true where the sums can keep the divisor: the odd parts of
// all divisors together stay within 2^53.
CarriedSums divided(const CarriedSums& sums, double divisor);
bool can_be_divided(const CarriedSums& sums, double divisor);

// over_one returns sums times `multiple`, which their divisor divides; the result has divisor 1.
CarriedSums over_one(const CarriedSums& sums, std::int64_t multiple);

}  // namespace simmesh
