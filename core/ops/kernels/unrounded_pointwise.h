#pragma once

#include "core/ops/op.h"

namespace simmesh {

// What elementwise kernels do in a scope of KeepUnrounded: they add, or divide, what is behind the
// elements of their operands, and write the result with the sums behind it.

// adding_unrounded returns an op `add`, and dividing_unrounded an op `div`, whose kernel does so:
// for a sum of floating tensors with a finite factor, and for a sum that a finite number divides.
// For other operands the kernel is as before.
Op adding_unrounded(Op add);
Op dividing_unrounded(Op div);

}  // namespace simmesh
