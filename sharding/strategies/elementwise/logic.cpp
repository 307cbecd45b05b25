#include "core/ops/elementwise/logic.h"

#include <limits>

#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/factories.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// PyTorch runs isfinite as four ops. Each of the first three brings a partial tensor to rest anew.
std::vector<Tensor> isfinite_by_steps(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  if (!is_floating_point(x.dtype())) return {ones_like(x, DType::boolean)};
  Tensor is_bounded = ne(abs(x), std::numeric_limits<double>::infinity());
  return {mul(eq(x, x), is_bounded)};
}

}  // namespace

void logic_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"logical_and", elementwise()},
      {"logical_or", elementwise()},
      {"logical_xor", elementwise()},
      {"logical_not", elementwise()},
      {"bitwise_and", elementwise()},
      {"bitwise_or", elementwise()},
      {"bitwise_xor", elementwise()},
      {"bitwise_not", elementwise()},
      {"isnan", elementwise()},
      {"isinf", elementwise()},
      {"isfinite", {.decomposition = isfinite_by_steps}},
  };
  table.add(strategies);
}

}  // namespace simmesh
