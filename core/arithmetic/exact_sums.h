#pragma once

#include <vector>

#include "core/arithmetic/carried_sums.h"
#include "core/arithmetic/sums.h"
#include "core/arithmetic/triple_sum.h"
#include "core/kernels/kernels.h"

namespace simmesh {

// triple_sums returns each sum of a floating request as a TripleSum.
std::vector<TripleSum> triple_sums(const SumRequest& request, const Kernels& kernels);

// long_sum returns one sum of a floating request, exactly: for the few that a TripleSum doesn't
// settle.
CarriedSums long_sum(const SumRequest& request, std::int64_t index);

}  // namespace simmesh
