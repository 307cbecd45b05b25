#pragma once

#include <gsl/span>

#include "core/ops/registry/op_table.h"
#include "sharding/strategies/strategy.h"

namespace simmesh {

// OpStrategy is the sharding strategy of the op of that name.
using OpStrategy = OfOp<ShardingStrategy>;

// The strategies of the library's ops, family by family. A family is a file below core/ops; the
// file of the same name below sharding/strategies defines its function. strategy_of joins them in
// one table.

// The families of core/ops/elementwise.
gsl::span<const OpStrategy> activation_strategies();
gsl::span<const OpStrategy> comparison_strategies();
gsl::span<const OpStrategy> complex_strategies();
gsl::span<const OpStrategy> conversion_strategies();
gsl::span<const OpStrategy> elementary_strategies();
gsl::span<const OpStrategy> gamma_strategies();
gsl::span<const OpStrategy> inplace_strategies();
gsl::span<const OpStrategy> interpolation_strategies();
gsl::span<const OpStrategy> logic_strategies();
gsl::span<const OpStrategy> pointwise_strategies();
gsl::span<const OpStrategy> selection_strategies();
gsl::span<const OpStrategy> slope_strategies();
gsl::span<const OpStrategy> trigonometry_strategies();

// The families of core/ops/matrices.
gsl::span<const OpStrategy> composition_strategies();
gsl::span<const OpStrategy> linear_algebra_strategies();
gsl::span<const OpStrategy> product_strategies();
gsl::span<const OpStrategy> spectral_strategies();

// The families of core/ops/reductions.
gsl::span<const OpStrategy> extreme_strategies();
gsl::span<const OpStrategy> logcumsumexp_strategies();
gsl::span<const OpStrategy> membership_strategies();
gsl::span<const OpStrategy> order_statistics_strategies();
gsl::span<const OpStrategy> running_extreme_strategies();
gsl::span<const OpStrategy> scan_strategies();
gsl::span<const OpStrategy> sorting_strategies();
gsl::span<const OpStrategy> statistics_strategies();
gsl::span<const OpStrategy> sum_strategies();

// The families of core/ops/neural.
gsl::span<const OpStrategy> batch_normalization_strategies();
gsl::span<const OpStrategy> convolution_strategies();
gsl::span<const OpStrategy> flash_attention_strategies();
gsl::span<const OpStrategy> gradient_operand_strategies();
gsl::span<const OpStrategy> loss_strategies();
gsl::span<const OpStrategy> normalization_strategies();
gsl::span<const OpStrategy> pooling_strategies();
gsl::span<const OpStrategy> rotary_strategies();
gsl::span<const OpStrategy> softmax_backward_strategies();
gsl::span<const OpStrategy> softmax_strategies();

// The families of core/ops/indexing.
gsl::span<const OpStrategy> resampling_strategies();

// The families of core/ops/random.
gsl::span<const OpStrategy> random_strategies();

// The families of core/ops/shapes.
gsl::span<const OpStrategy> alias_strategies();
gsl::span<const OpStrategy> factory_strategies();
gsl::span<const OpStrategy> joining_strategies();
gsl::span<const OpStrategy> unfolding_strategies();
gsl::span<const OpStrategy> view_strategies();

// The families of core/ops/indexing.
gsl::span<const OpStrategy> gathering_strategies();
gsl::span<const OpStrategy> indexing_strategies();
gsl::span<const OpStrategy> rearranging_strategies();
gsl::span<const OpStrategy> resampling_strategies();
gsl::span<const OpStrategy> scatter_reduce_strategies();
gsl::span<const OpStrategy> scattering_strategies();
gsl::span<const OpStrategy> view_scattering_strategies();

}  // namespace simmesh
