#include "core/ops/reductions/logcumsumexp.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"

namespace simmesh {

gsl::span<const OpStrategy> logcumsumexp_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"logcumsumexp", along_dim()},
      {"_logcumsumexp_backward", along_dim()},
      {"_logcumsumexp_forward", along_dim()},
  };
  return strategies;
}

}  // namespace simmesh
