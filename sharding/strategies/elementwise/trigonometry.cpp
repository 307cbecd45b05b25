#include "core/ops/elementwise/trigonometry.h"

#include "sharding/strategies/families.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"

namespace simmesh {

gsl::span<const OpStrategy> trigonometry_strategies() {
  static const OpStrategy strategies[] = {
      {"sin", elementwise()},
      {"cos", elementwise()},
      {"tan", elementwise()},
      {"asin", elementwise()},
      {"acos", elementwise()},
      {"atan", elementwise(increasing_rows())},
      {"sinh", elementwise(increasing_rows())},
      {"cosh", elementwise()},
      {"tanh", elementwise(increasing_rows())},
      {"asinh", elementwise(increasing_rows())},
      {"acosh", elementwise()},
      {"atanh", elementwise()},
      {"atan2", elementwise()},
      {"hypot", elementwise()},
  };
  return strategies;
}

}  // namespace simmesh
