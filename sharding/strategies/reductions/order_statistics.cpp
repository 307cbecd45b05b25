#include "core/ops/reductions/order_statistics.h"

#include "sharding/strategies/families.h"

namespace simmesh {

gsl::span<const OpStrategy> order_statistics_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"median", {.accepts_short_dims = true}},
      {"nanmedian", {.accepts_short_dims = true}},
  };
  return strategies;
}

}  // namespace simmesh
