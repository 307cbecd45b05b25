#pragma once

#include <simmesh/core/ops/folded.h>

namespace simmesh {

// exact_prefix_sums writes the exact sums of all prefixes of the folded dim of x, floating, into a
// contiguous tensor of the dtype and element count of x: element k of a line gets the bits that the
// exact sum of its first k + 1 terms has. A prefix is carried along as integers; only where its
// grid becomes coarser, with its largest magnitude or its length, it is added again.
void exact_prefix_sums(const Folded& x, Tensor& out);

}  // namespace simmesh
