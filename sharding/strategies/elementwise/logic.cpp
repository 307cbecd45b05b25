#include "core/ops/elementwise/logic.h"

#include "sharding/strategies/families.h"
#include "sharding/strategies/pointwise_rows.h"

namespace simmesh {

gsl::span<const OpStrategy> logic_strategies() {
  static const OpStrategy strategies[] = {
      {"logical_and", elementwise()}, {"logical_or", elementwise()},
      {"logical_xor", elementwise()}, {"logical_not", elementwise()},
      {"bitwise_and", elementwise()}, {"bitwise_or", elementwise()},
      {"bitwise_xor", elementwise()}, {"bitwise_not", elementwise()},
      {"isnan", elementwise()},       {"isinf", elementwise()},
      {"isfinite", elementwise()},
  };
  return strategies;
}

}  // namespace simmesh
