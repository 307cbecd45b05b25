#pragma once

#include "core/arithmetic/sums/carried_sums.h"
#include "core/ops/kernels/folded.h"

namespace simmesh {

// unrounded_fold returns the sums of a folded tensor of a floating dtype; in a scope of
// KeepUnrounded it adds the unrounded sums of its elements.
CarriedSums unrounded_fold(const Folded& terms);

}  // namespace simmesh
