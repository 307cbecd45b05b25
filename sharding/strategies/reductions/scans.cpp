#include "core/ops/reductions/scans.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"
#include "sharding/strategies/partial_rows.h"

namespace simmesh {

gsl::span<const OpStrategy> scan_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"cumsum", along_dim(linear_rows())},
      {"cumprod", along_dim()},
  };
  return strategies;
}

}  // namespace simmesh
