#include "core/ops/elementwise/backward.h"

#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void backward_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"sigmoid_backward", elementwise()},   {"tanh_backward", elementwise()},
      {"threshold_backward", elementwise()}, {"silu_backward", elementwise()},
      {"gelu_backward", elementwise()},
  };
  table.add(strategies);
}

}  // namespace simmesh
