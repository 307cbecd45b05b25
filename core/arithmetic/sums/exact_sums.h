#pragma once

#include <vector>

#include "core/arithmetic/sums/carried_sums.h"
#include "core/arithmetic/sums/sums.h"
#include "core/arithmetic/sums/triple_sum.h"
#include "core/kernels/kernels.h"

namespace simmesh {

// exact_sum computes each sum as the correctly rounded sum of its exact terms; totals are correctly
// rounded doubles. A term is exact for identity, absolute and square; of squared_deviation it is
// the double (x - mean)^2, each operation rounded. A NaN, or both infinities, give the one quiet
// NaN, else the infinity. A sum of zero is +0.
void exact_sum(const SumRequest& request, InstructionSet set = best_instruction_set());

// triple_sums returns each sum of a floating request as a TripleSum.
std::vector<TripleSum> triple_sums(const SumRequest& request, const Kernels& kernels);

// long_sum returns one sum of a floating request, exactly: for the few that a TripleSum doesn't
// settle.
CarriedSums long_sum(const SumRequest& request, std::int64_t index);

}  // namespace simmesh
