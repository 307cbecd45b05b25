#pragma once

#include "core/ops/kernels/folded.h"

namespace simmesh {

// exact_prefix_sums writes the exact sums of all prefixes of the folded dim of x, floating, into a
// contiguous tensor of the dtype and element count of x: element k of a line is the correctly
// rounded sum of its first k + 1 terms, as exact_sum gives it. A prefix is carried along.
void exact_prefix_sums(const Folded& x, Tensor& out);

}  // namespace simmesh
