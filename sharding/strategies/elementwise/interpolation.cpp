#include "core/ops/elementwise/interpolation.h"

#include "sharding/strategies/families.h"
#include "sharding/strategies/pointwise_rows.h"

namespace simmesh {

gsl::span<const OpStrategy> interpolation_strategies() {
  static const OpStrategy strategies[] = {
      {"lerp", elementwise()},
      {"addcmul", elementwise()},
      {"addcdiv", elementwise()},
  };
  return strategies;
}

}  // namespace simmesh
