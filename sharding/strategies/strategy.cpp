#include "sharding/strategies/strategy.h"

namespace simmesh {

bool adds_up(const Placement& placement) {
  return placement.is_partial() &&
         (placement.reduce_op() == ReduceOp::sum || placement.reduce_op() == ReduceOp::avg);
}

ShardingStrategy going_on(ShardingStrategy strategy, std::size_t tensors_max) {
  strategy.stays_unrounded = tensors_max;
  return strategy;
}

std::shared_ptr<const ShardingStrategy> strategy(StrategyRows rows) {
  return strategy(
      ShardingStrategy{.rows = [rows = std::move(rows)](const StrategyRequest&) { return rows; },
                       .accepts_short_dims = true});
}

std::shared_ptr<const ShardingStrategy> strategy(ShardingStrategy value) {
  return std::make_shared<const ShardingStrategy>(std::move(value));
}

}  // namespace simmesh
