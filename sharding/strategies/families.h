#pragma once

#include <gsl/span>

#include "core/ops/registry/op_table.h"
#include "sharding/propagation/strategy.h"

namespace simmesh {

// OpStrategy is the sharding strategy of the op of that name.
using OpStrategy = OfOp<ShardingStrategy>;

// The strategies of the library's ops, family by family. A family is a file below core/ops; the
// file of the same name below sharding/strategies defines its function. strategy_of joins them in
// one table.

gsl::span<const OpStrategy> pointwise_strategies();
gsl::span<const OpStrategy> product_strategies();

// The families of core/ops/shapes and core/ops/indexing.
gsl::span<const OpStrategy> gathering_strategies();
gsl::span<const OpStrategy> indexing_strategies();
gsl::span<const OpStrategy> joining_strategies();
gsl::span<const OpStrategy> rearranging_strategies();
gsl::span<const OpStrategy> scatter_reduce_strategies();
gsl::span<const OpStrategy> scattering_strategies();
gsl::span<const OpStrategy> unfolding_strategies();
gsl::span<const OpStrategy> view_strategies();

}  // namespace simmesh
