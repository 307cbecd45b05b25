#pragma once

#include <optional>
#include <string>

#include "core/tensor/tensor.h"
#include "sharding/placement/placement.h"

namespace simmesh {

// RuleMismatch is the first difference of a trial; see RuleCounterExample.
struct RuleMismatch {
  std::string what;
  std::string index = {}, expected = {}, got = {};
  std::string problem = {};
};

// compare_pieces compares the tensors that the ranks of a mesh hold, row-major, with the whole
// tensor that they stand for by their placements. Zeros of either sign are equal, and all NaNs are;
// other elements have equal bits.
std::optional<RuleMismatch> compare_pieces(const std::string& what, const Tensor& whole,
                                           gsl::span<const Tensor> pieces, PlacementSpan placements,
                                           DimSpan mesh);

}  // namespace simmesh
