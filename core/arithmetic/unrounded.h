#pragma once

#include <gsl/span>
#include <memory>
#include <vector>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/arithmetic/sums/carried_sums.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// In exact arithmetic a tensor may have, behind its rounded elements, the sums that they are
// rounded from: its companion. Views, copies and collectives take it along; what writes elements
// otherwise ends it for those. It takes no memory of the rank, and no operation but those that add
// looks at it, so a program sees the same tensors, bytes and times as without.

// is_unrounded says whether there are sums behind any element of a tensor.
bool is_unrounded(const Tensor& tensor);

// unrounded returns the sums behind a floating tensor's elements, in row-major order; the element
// itself where there is none.
CarriedSums unrounded(const Tensor& tensor);

// write_unrounded writes sums, rounded once, into a contiguous floating tensor of as many elements,
// and keeps them behind it.
void write_unrounded(Tensor& tensor, CarriedSums sums);
// keep_unrounded does the latter for elements that are rounded already.
void keep_unrounded(Tensor& tensor, CarriedSums sums);

// share_unrounded keeps behind the elements of target, which are those of source, what is behind
// these. Nobody else may own target's bytes.
void share_unrounded(const Tensor& target, const Tensor& source);

// rounded returns a tensor's elements with nothing behind them: the tensor itself where there is
// nothing, else a copy.
Tensor rounded(const Tensor& tensor);

// sum_of returns the sums, place by place, of sums of equal count: nothing is rounded, but for
// parts over divisors without a common multiple below 2^53, which are rounded to float64 first.
CarriedSums sum_of(gsl::span<const CarriedSums> parts);

// UnroundedReduction is the reduction of tensors of one shape and floating dtype, by sum, avg or
// premul_sum, of what is behind their elements.
struct UnroundedReduction {
  ReduceOp op = ReduceOp::sum;
  double factor = 1.0;  // of premul_sum, rounded to the dtype
  gsl::span<const Tensor> operands;
};
// reduce_unrounded writes it to a contiguous result of that shape and dtype; keeps says whether
// what isn't rounded is kept behind the result.
void reduce_unrounded(const UnroundedReduction& reduction, Tensor& result, bool keeps);

}  // namespace simmesh
