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

// The families of core/ops/elementwise.
gsl::span<const OpStrategy> pointwise_strategies();

// The families of core/ops/matrices.
gsl::span<const OpStrategy> product_strategies();

}  // namespace simmesh
