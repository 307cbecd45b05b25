#include "core/ops/reductions/running_extremes.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"

namespace simmesh {

gsl::span<const OpStrategy> running_extreme_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"cummax", along_dim()},
      {"cummin", along_dim()},
  };
  return strategies;
}

}  // namespace simmesh
