#pragma once

#include <gsl/span>
#include <memory>
#include <vector>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/arithmetic/sums/carried_sums.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// In exact arithmetic a tensor's rounded elements may have a companion: the unrounded sums that
// they were rounded from. Views, copies and collectives take it along; any other write drops it for
// the elements written. It takes no memory of the rank, and only operations that add look at it, so
// a program sees the same tensors, bytes and times as without it.

// is_unrounded is true where any element of a tensor has an unrounded sum.
bool is_unrounded(const Tensor& tensor);

// unrounded returns the unrounded sums of a floating tensor's elements, in row-major order; the
// element itself where it has none.
CarriedSums unrounded(const Tensor& tensor);

// write_unrounded writes sums, rounded once, into a contiguous floating tensor of as many elements,
// and keeps them as its unrounded sums.
void write_unrounded(Tensor& tensor, CarriedSums sums);
// keep_unrounded does the latter for elements that are already rounded.
void keep_unrounded(Tensor& tensor, CarriedSums sums);

// share_unrounded gives target, whose elements are those of source, the unrounded sums of source.
// Nobody else may own target's bytes.
void share_unrounded(const Tensor& target, const Tensor& source);

// rounded returns a tensor's elements without unrounded sums: the tensor itself where it has none,
// else a copy.
Tensor rounded(const Tensor& tensor);

// sum_of returns the sums, place by place, of sums of equal count: nothing is rounded, except parts
// over divisors without a common multiple below 2^53, which are rounded to float64 first.
CarriedSums sum_of(gsl::span<const CarriedSums> parts);

// UnroundedReduction is a reduction, by sum, avg or premul_sum, of the unrounded sums of tensors of
// one shape and floating dtype.
struct UnroundedReduction {
  ReduceOp op = ReduceOp::sum;
  double factor = 1.0;  // of premul_sum, rounded to the dtype
  gsl::span<const Tensor> operands;
};
// reduce_unrounded writes the reduction to a contiguous result of that shape and dtype; `keeps`
// says whether the result keeps its unrounded sums.
void reduce_unrounded(const UnroundedReduction& reduction, Tensor& result, bool keeps);

}  // namespace simmesh
