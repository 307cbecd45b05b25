#include "core/ops/elementwise/pointwise.h"

#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void pointwise_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"add", going_on(elementwise(additive_rows()))},
      {"sub", elementwise(additive_rows())},
      {"rsub", elementwise()},
      {"mul", elementwise(joined({linear_rows(), product_rows()}))},
      {"div", going_on(elementwise(joined({linear_rows(), quotient_rows()})), 1)},
      {"div.Tensor_mode", elementwise()},
      {"remainder", elementwise()},
      {"fmod", elementwise()},
      {"pow", elementwise()},
      {"pow.Tensor_Tensor", elementwise()},
      {"neg", elementwise(joined({linear_rows(), decreasing_rows()}))},
      {"abs", elementwise()},
      {"sign", elementwise(increasing_rows())},
      {"sgn", elementwise(increasing_rows())},
      {"reciprocal", elementwise()},
  };
  table.add(strategies);
}

}  // namespace simmesh
