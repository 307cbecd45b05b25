#include "core/ops/elementwise/activations.h"

#include "core/ops/attribute_names.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// A value above the threshold makes the result fall where the argument rises.
StrategyRows threshold_rows(const StrategyRequest& call) {
  double threshold = call.attributes.get_or(attribute::threshold, 0).as<double>();
  double value = call.attributes.get_or(attribute::value, 0).as<double>();
  return elementwise_rows(call, value <= threshold ? increasing_rows() : StrategyRows());
}

// PyTorch derives the layouts of such an op, and moves a tensor with empty pieces first.
ShardingStrategy derived_elementwise() {
  ShardingStrategy strategy = elementwise();
  strategy.accepts_short_dims = false;
  strategy.is_derived = true;
  return strategy;
}

}  // namespace

void activations_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"relu", elementwise(increasing_rows())},
      {"hardtanh", elementwise()},
      {"leaky_relu", elementwise()},
      {"threshold", {.rows = threshold_rows, .accepts_short_dims = true}},
      {"silu", elementwise()},
      {"gelu", elementwise()},
      {"softplus", elementwise()},
      {"log_sigmoid_forward", derived_elementwise()},
      {"mish", elementwise()},
      {"elu", elementwise()},
      {"hardsigmoid", elementwise()},
      {"hardswish", derived_elementwise()},
  };
  table.add(strategies);
}

}  // namespace simmesh
