#pragma once

#include "core/arithmetic/carried_sums.h"
#include "core/ops/indexing/places.h"
#include "core/ops/matrices/matrix.h"
#include "core/ops/reductions/folded.h"

namespace simmesh {

// What kernels do in a scope of UnroundedSums: they add what is behind the elements of their
// operands, and write the result with the sums behind it. Operands are floating; factors are
// finite.

// unrounded_fold returns the sums of a folded tensor.
CarriedSums unrounded_fold(const Folded& terms);

// write_unrounded_product writes alpha * a b + beta * addend; an undefined addend is none.
void write_unrounded_product(const Tensor& a, const Tensor& b, const Addend& addend, Tensor& out);

// write_unrounded_blocks does what add_blocks says.
void write_unrounded_blocks(const BlockSum& sum, Tensor& out);

// converted_unrounded is converted(), and in a scope of UnroundedSums takes along what is behind
// the elements: these are then rounded from it, once.
Tensor converted_unrounded(const Tensor& tensor, DType dtype);

// adding_unrounded returns an op `add`, and dividing_unrounded an op `div`, whose kernel does so:
// a sum of tensors, and a sum that a number divides. For other operands it is as before.
Op adding_unrounded(Op add);
Op dividing_unrounded(Op div);

}  // namespace simmesh
