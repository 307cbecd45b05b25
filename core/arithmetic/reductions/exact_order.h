#pragma once

#include "core/arithmetic/reductions/reduction.h"

namespace simmesh {

// ExactOrder computes each element as the correctly rounded sum of its own floating terms, whatever
// their order, number and magnitudes; avg divides before the one rounding, and premul_sum adds the
// exact products with the factor, rounded to the dtype first. An infinite or NaN operand gives what
// IEEE addition gives in any order: the one quiet NaN for a NaN or for both infinities, else the
// infinity. A sum of zero is +0. The result may be one of the operands.
class ExactOrder {
 public:
  void reduce(const Reduction& reduction) const;
};

}  // namespace simmesh
