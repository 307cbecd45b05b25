#pragma once

#include <simmesh/core/arithmetic/arithmetic.h>

namespace simmesh {

// ExactOrder adds floating terms as integers on a grid that the largest magnitude of all operands
// and their number fix, so the result is the same for every order of the operands. float64 takes
// 128-bit accumulators. An element with an infinite or NaN operand becomes what IEEE addition in
// any order gives: NaN for a NaN or for both infinities, else the infinity.
class ExactOrder final : public ReductionOrder {
 public:
  void reduce(const Reduction& reduction) const override;
};

}  // namespace simmesh
