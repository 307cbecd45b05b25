#include "core/ops/neural/softmax_backward.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"

namespace simmesh {

gsl::span<const OpStrategy> softmax_backward_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"_softmax_backward_data", along_dim()},
      {"_log_softmax_backward_data", along_dim()},
  };
  return strategies;
}

}  // namespace simmesh
