#include "core/ops/elementwise/activations.h"

#include "sharding/strategies/families.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"

namespace simmesh {

namespace {

// A value above the threshold makes the result fall where the argument rises.
StrategyRows threshold_rows(const StrategyRequest& call) {
  double threshold = number_or(call.attributes, "threshold", 0).as<double>();
  double value = number_or(call.attributes, "value", 0).as<double>();
  return elementwise_rows(call, value <= threshold ? increasing_rows() : StrategyRows());
}

}  // namespace

gsl::span<const OpStrategy> activation_strategies() {
  static const OpStrategy strategies[] = {
      {"relu", elementwise(increasing_rows())},
      {"hardtanh", elementwise()},
      {"leaky_relu", elementwise()},
      {"threshold", {.rows = threshold_rows, .accepts_short_dims = true}},
      {"silu", elementwise()},
      {"gelu", elementwise()},
      {"softplus", elementwise()},
      {"log_sigmoid_forward", elementwise()},
      {"mish", elementwise()},
      {"elu", elementwise()},
      {"hardsigmoid", elementwise()},
      {"hardswish", elementwise()},
  };
  return strategies;
}

}  // namespace simmesh
