#include "core/ops/elementwise/special.h"

#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void special_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"frac", elementwise()},
      {"signbit", elementwise()},
      {"heaviside", elementwise()},
      {"isposinf", elementwise()},
      {"isneginf", elementwise()},
      {"deg2rad", elementwise()},
      {"rad2deg", elementwise()},
      {"angle", elementwise()},
      {"sinc", elementwise()},
      {"special_entr", elementwise()},
      {"logit", elementwise()},
      {"erfinv", elementwise()},
      {"i0", elementwise()},
      {"hardshrink", elementwise()},
      {"softshrink", elementwise()},
      {"celu", elementwise()},
      {"_prelu_kernel", elementwise()},
      {"gcd", elementwise()},
      {"lcm", elementwise()},
  };
  table.add(strategies);
}

}  // namespace simmesh
