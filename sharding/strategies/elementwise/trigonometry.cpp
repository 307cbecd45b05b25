#include "core/ops/elementwise/trigonometry.h"

#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void trigonometry_strategies(StrategyTable& table) {
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
  table.add(strategies);
}

}  // namespace simmesh
