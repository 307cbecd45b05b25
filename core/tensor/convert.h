#pragma once

#include "core/kernels/instruction_set.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// converted returns the elements in another dtype, contiguous: each rounded once, to nearest even.
// A floating value that becomes an integer is rounded toward zero, and the low bits are kept; one
// outside int64 becomes the least int64 first. To bool an element is true where it isn't zero. The
// tensor itself where the dtype is its own.
Tensor converted(const Tensor& tensor, DType dtype, InstructionSet set = best_instruction_set());

}  // namespace simmesh
