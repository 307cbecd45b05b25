#pragma once

#include "core/ops/op.h"

namespace simmesh {

// Elementwise kernels in a scope of KeepUnrounded: they add, or divide, the unrounded sums of their
// operands, and the result keeps its unrounded sums.

// adding_unrounded returns an op `add`, and dividing_unrounded an op `div`, with such a kernel: for
// a sum of floating tensors with a finite factor, and for a sum that a finite number divides. For
// other operands the kernel is as before.
Op adding_unrounded(Op add);
Op dividing_unrounded(Op div);

}  // namespace simmesh
