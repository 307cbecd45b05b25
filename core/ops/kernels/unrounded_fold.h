#pragma once

#include "core/arithmetic/sums/carried_sums.h"
#include "core/ops/kernels/folded.h"

namespace simmesh {

// unrounded_fold returns the sums of a folded tensor of a floating dtype, with what is behind its
// elements in a scope of KeepUnrounded.
CarriedSums unrounded_fold(const Folded& terms);

}  // namespace simmesh
