#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// NormalizedGroups are the groups of elements that share a mean and a root in a normalization.
struct NormalizedGroups {
  Shape elements;    // the shape under which x is normalized
  Shape statistics;  // that shape with size 1 along what is normalized
  Shape parameters;  // how weight and bias broadcast to elements

  // normalized_dims returns the dims of elements that belong to a group.
  Dims normalized_dims() const;
};

// The groups of layer_norm and rms_norm are the last dims, of the sizes "normalized_shape"; those
// of group_norm the channels of an image [N, C, d...] in "groups" of equal size; those of
// batch_norm all elements of a channel.
NormalizedGroups layer_norm_groups(const Shape& shape, const Attributes& attributes);
NormalizedGroups group_norm_groups(const Shape& shape, const Attributes& attributes);
NormalizedGroups batch_norm_groups(const Shape& shape);

// statistics_dtype returns the dtype of means and roots: float32 for 16-bit dtypes.
DType statistics_dtype(DType dtype);

// optional_input returns an input of an op, undefined where it is absent.
Tensor optional_input(gsl::span<const Tensor> inputs, std::size_t i);

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

// Affine are the weight and bias of normalized elements; undefined where absent.
struct Affine {
  Tensor weight;
  Tensor bias;
};
// normalize_groups writes (x - mean) * rstd * weight + bias, in double, rounded once.
void normalize_groups(const Tensor& x, const NormalizedGroups& groups, const GroupMoments& moments,
                      const Affine& affine, Tensor& out);

// The argument of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Dims> normalized_shape{"normalized_shape"};
}  // namespace attribute

}  // namespace simmesh
