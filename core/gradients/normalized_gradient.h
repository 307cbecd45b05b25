#pragma once

#include "core/ops/gradient_call.h"
#include "core/ops/kernels/normalized_groups.h"

namespace simmesh {

// NormalizedGradient holds the parts from which gradients of a normalization are made, in the dtype
// of the statistics.
struct NormalizedGradient {
  Tensor g;           // of the normalized elements before weight and bias: [elements]
  Tensor raw;         // of the result: [elements]
  Tensor normalized;  // (x - mean) * rstd: [elements]
  Tensor centered;    // x - mean
  Tensor rstd;        // [statistics]
  Dims dims;          // what is normalized
  double count;
};
// NormalizedOperands are the inputs of a NormalizedGradient.
struct NormalizedOperands {
  Tensor gradient;  // of the result
  Tensor x;
  Tensor rstd;
  Tensor mean;    // undefined where it isn't subtracted
  Tensor weight;  // undefined where there is none
};
// normalized_operands reads the inputs x and weight, and from the outputs rstd and, where it is
// subtracted, the mean. aligned_operands redistributes distributed ones, so that they are placed
// alike along the dims of x before the last ones, whose number is given; it does nothing where the
// pass is recorded. A bias moves along, though nothing reads it, because PyTorch's backward op has
// it as an operand.
NormalizedOperands normalized_operands(const GradientCall& call, bool subtracts_mean);
NormalizedOperands aligned_operands(const GradientCall& call, bool subtracts_mean,
                                    std::size_t whole_dims, const Tensor& bias = {});

// normalized_gradient computes the parts that the gradients of all inputs share.
NormalizedGradient normalized_gradient(const NormalizedOperands& operands,
                                       const NormalizedGroups& groups);

// normalized_input_gradient returns the gradient of x, from that of the result and, in second
// derivatives, those of the statistics.
Tensor normalized_input_gradient(const GradientCall& call, const NormalizedGroups& groups,
                                 const NormalizedGradient& b, bool subtracts_mean);

// channel_sum returns the gradient of input i, which has one element per channel: the sum of x over
// all other dims. x has the elements of [N, C, d...] in any grouping of dims.
Tensor channel_sum(const GradientCall& call, std::size_t i, const Tensor& x);

}  // namespace simmesh
