#include "core/ops/elementwise/backward.h"

#include "sharding/strategies/families.h"
#include "sharding/strategies/pointwise_rows.h"

namespace simmesh {

gsl::span<const OpStrategy> slope_strategies() {
  static const OpStrategy strategies[] = {
      {"sigmoid_backward", elementwise()},   {"tanh_backward", elementwise()},
      {"threshold_backward", elementwise()}, {"silu_backward", elementwise()},
      {"gelu_backward", elementwise()},
  };
  return strategies;
}

}  // namespace simmesh
