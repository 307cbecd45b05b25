#pragma once

#include "core/kernels/instruction_set.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// converted returns the elements in another dtype, contiguous: each rounded once, to nearest even;
// toward zero from a floating dtype to an integer, whose low bits are kept; to bool, whether it
// isn't zero. A floating value outside of int64 becomes its least one first. The tensor itself
// where the dtype is its own.
Tensor converted(const Tensor& tensor, DType dtype, InstructionSet set = best_instruction_set());

}  // namespace simmesh
