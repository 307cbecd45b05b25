#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/kernels/instruction_set.h"
#include "core/kernels/kernels.h"
#include "core/tensor/dtype.h"

namespace simmesh {

// Combine computes out[i] = a[i] op b[i] for count elements, each operation correctly rounded to
// the dtype. Integers wrap, a bool sum is OR and a bool product AND, min and max pass a NaN on. out
// may be a or b.
using Combine = CombineKernel;

// combine_of returns the kernel of one operation. avg and premul_sum combine as sum.
Combine combine_of(ReduceOp op, DType dtype, InstructionSet set = best_instruction_set());

// Fold computes out[i] = ((out[i] op rows[0][i]) op rows[1][i]) op ... for count elements, like
// that many calls of Combine. out overlaps no row.
using Fold = FoldKernel;

// fold_of returns the kernel of one operation.
Fold fold_of(ReduceOp op, DType dtype, InstructionSet set = best_instruction_set());

// check_reduction raises a TypeError where the operation isn't defined for the dtype: bitwise
// operations of floating dtypes, averages and scaled sums of integers and bools. PyTorch computes
// some of these in floating point and truncates.
void check_reduction(ReduceOp op, DType dtype);

// scale writes values[i] * factor into out, rounded once to the dtype; factor is rounded to the
// dtype first.
void scale(std::byte* out, const std::byte* values, double factor, DType dtype, std::int64_t count,
           InstructionSet set = best_instruction_set());

// divide divides values in place by divisor, rounded once to the dtype. Floating dtypes only.
void divide(std::byte* values, double divisor, DType dtype, std::int64_t count,
            InstructionSet set = best_instruction_set());

}  // namespace simmesh
