#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// Normalizations: (x - mean) * rstd * weight + bias, with weight and bias undefined where absent.
// Mean, then mean of squared deviations, then rstd = 1 / sqrt(variance + eps) are computed in
// double, the sums as the current arithmetic adds, and are rounded once each. Raise a RuntimeError
// for shapes and dtypes that don't fit, and a NotImplementedError for integers.

// layer_norm normalizes over the last dims, those of the shape, which weight and bias have.
Tensor layer_norm(const Tensor& x, DimSpan normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

// rms_norm divides by the root of the mean square over the last dims. eps is the spacing of floats
// at 1 in the dtype of x where none is given.
Tensor rms_norm(const Tensor& x, DimSpan normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

// group_norm normalizes x of [N, C, d...] over each of its groups of channels. weight and
// bias are [C]. Raises a RuntimeError where the groups don't divide C.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

}  // namespace simmesh
