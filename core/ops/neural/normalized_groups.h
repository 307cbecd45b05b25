#pragma once

#include <cstdint>

#include "core/ops/gradient_call.h"

namespace simmesh {

// NormalizedGroups say what a normalization normalizes: the groups of elements that share a mean
// and a root.
struct NormalizedGroups {
  Shape elements;    // the shape under which x is normalized
  Shape statistics;  // that shape with size 1 along what is normalized
  Shape parameters;  // how weight and bias broadcast to elements

  // normalized_dims returns the dims of elements that a group goes along.
  Dims normalized_dims() const;
};

// statistics_dtype returns the dtype of means and roots: float32 for 16-bit dtypes.
DType statistics_dtype(DType dtype);

// optional_input returns an input of an op or of a gradient, undefined where it is absent.
Tensor optional_input(gsl::span<const Tensor> inputs, std::size_t i);
Tensor optional_input(const GradientCall& call, std::size_t i);

// GroupMoments are the statistics of each group, in double: [statistics].
struct GroupMoments {
  Tensor mean;      // zeros where the mean isn't subtracted
  Tensor rstd;      // 1 / sqrt(variance + eps)
  Tensor variance;  // divided by the count
};
struct MomentOptions {
  bool subtracts_mean;
  double eps;
};
// group_moments computes the mean, then the mean of squared deviations, or of squares, in sums of
// the current arithmetic.
GroupMoments group_moments(const Tensor& x, const NormalizedGroups& groups,
                           const MomentOptions& options);

// Affine is what normalized elements are multiplied by and added to; undefined where absent.
struct Affine {
  Tensor weight;
  Tensor bias;
};
// normalize_groups writes (x - mean) * rstd * weight + bias, in double, rounded once.
void normalize_groups(const Tensor& x, const NormalizedGroups& groups, const GroupMoments& moments,
                      const Affine& affine, Tensor& out);

// NormalizedGradient is what gradients of a normalization are made of, in the dtype of the
// statistics.
struct NormalizedGradient {
  Tensor g;           // of the normalized elements before weight and bias: [elements]
  Tensor raw;         // of the result: [elements]
  Tensor normalized;  // (x - mean) * rstd: [elements]
  Tensor centered;    // x - mean
  Tensor rstd;        // [statistics]
  Dims dims;          // what is normalized
  double count;
};
// normalized_gradient reads the inputs x and weight, and of the outputs the mean, where it is
// subtracted, and rstd.
NormalizedGradient normalized_gradient(const GradientCall& call, const NormalizedGroups& groups,
                                       bool subtracts_mean);

// normalized_input_gradient returns the gradient of x, from that of the result and, in second
// derivatives, those of the statistics.
Tensor normalized_input_gradient(const GradientCall& call, const NormalizedGroups& groups,
                                 const NormalizedGradient& b, bool subtracts_mean);

// channel_sum returns the gradient of input i, one element a channel, of elements [N, C, d...] of
// the shape of x in any grouping of their dims.
Tensor channel_sum(const GradientCall& call, std::size_t i, const Tensor& x);

}  // namespace simmesh
