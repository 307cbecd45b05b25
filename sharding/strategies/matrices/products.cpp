#include "core/ops/matrices/products.h"

#include "sharding/strategies/families.h"

namespace simmesh {

gsl::span<const OpStrategy> product_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"mm",
       {.rows =
            [](const StrategyRequest&) {
              return StrategyRows{
                  rule({Shard(1), Shard(0)}, Partial(ReduceOp::sum)),
                  rule({Shard(0), Replicate()}, Shard(0)),
                  rule({Replicate(), Shard(1)}, Shard(1)),
              };
            }}},
  };
  return strategies;
}

}  // namespace simmesh
