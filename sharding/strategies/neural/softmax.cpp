#include "core/ops/neural/softmax.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"

namespace simmesh {

gsl::span<const OpStrategy> softmax_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"_softmax", along_dim()},
      {"_log_softmax", along_dim()},
  };
  return strategies;
}

}  // namespace simmesh
