#pragma once

#include <gsl/span>

#include "core/ops/registry/op_table.h"

namespace simmesh {

// OpGradient is the gradient of the op of that name.
using OpGradient = OfOp<Gradient>;

// The gradients of the library's ops, family by family. A family is a file below core/ops; the file
// of the same name below core/gradients defines its function. gradient_of joins them in one table.

// The families of core/ops/shapes.
gsl::span<const OpGradient> alias_gradients();
gsl::span<const OpGradient> joining_gradients();
gsl::span<const OpGradient> unfolding_gradients();
gsl::span<const OpGradient> view_gradients();

// The families of core/ops/elementwise.
gsl::span<const OpGradient> activation_gradients();
gsl::span<const OpGradient> complex_gradients();
gsl::span<const OpGradient> conversion_gradients();
gsl::span<const OpGradient> elementary_gradients();
gsl::span<const OpGradient> gamma_gradients();
gsl::span<const OpGradient> inplace_gradients();
gsl::span<const OpGradient> interpolation_gradients();
gsl::span<const OpGradient> pointwise_gradients();
gsl::span<const OpGradient> selection_gradients();
gsl::span<const OpGradient> slope_gradients();
gsl::span<const OpGradient> trigonometry_gradients();

// The families of core/ops/indexing.
gsl::span<const OpGradient> gathering_gradients();
gsl::span<const OpGradient> indexing_gradients();
gsl::span<const OpGradient> rearranging_gradients();
gsl::span<const OpGradient> resampling_gradients();
gsl::span<const OpGradient> scatter_reduce_gradients();
gsl::span<const OpGradient> scattering_gradients();
gsl::span<const OpGradient> view_scattering_gradients();

// The families of core/ops/reductions.
gsl::span<const OpGradient> extreme_gradients();
gsl::span<const OpGradient> logcumsumexp_gradients();
gsl::span<const OpGradient> order_statistics_gradients();
gsl::span<const OpGradient> running_extreme_gradients();
gsl::span<const OpGradient> scan_gradients();
gsl::span<const OpGradient> sorting_gradients();
gsl::span<const OpGradient> statistics_gradients();
gsl::span<const OpGradient> sum_gradients();

// The families of core/ops/matrices.
gsl::span<const OpGradient> composition_gradients();
gsl::span<const OpGradient> linear_algebra_gradients();
gsl::span<const OpGradient> product_gradients();
gsl::span<const OpGradient> spectral_gradients();

// The families of core/ops/random.
gsl::span<const OpGradient> random_gradients();

// The families of core/ops/neural.
gsl::span<const OpGradient> batch_normalization_gradients();
gsl::span<const OpGradient> convolution_gradients();
gsl::span<const OpGradient> flash_attention_gradients();
gsl::span<const OpGradient> loss_gradients();
gsl::span<const OpGradient> normalization_gradients();
gsl::span<const OpGradient> pooling_gradients();
gsl::span<const OpGradient> rotary_gradients();
gsl::span<const OpGradient> softmax_gradients();
gsl::span<const OpGradient> softmax_backward_gradients();

}  // namespace simmesh
