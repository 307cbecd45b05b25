#include "core/ops/shapes/aliases.h"

#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The bytes of a partial tensor's parts aren't parts of its bytes. Where the last dim grows or
// shrinks, its elements move.
StrategyRows view_dtype_rows(const StrategyRequest& call) {
  std::int64_t last = std::int64_t(call.inputs[0].shape.size()) - 1;
  bool is_resized = call.inputs[0].shape != call.outputs[0].shape;
  return moving_rows(call, [=](std::int64_t dim) { return is_resized && dim == last ? -1 : dim; },
                     {});
}

// Both parts of a complex number stay together. There is no largest complex number.
StrategyRows complex_rows(const StrategyRequest& call) {
  std::int64_t last = std::int64_t(call.inputs[0].shape.size()) - 1;
  return moving_rows(call, [=](std::int64_t dim) { return dim == last ? -1 : dim; },
                     {ReduceOp::sum, ReduceOp::avg});
}

}  // namespace

void aliases_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"alias", passing()},
      {"positive", passing()},
      {"view_dtype", {.rows = view_dtype_rows, .accepts_short_dims = true}},
      {"view_as_complex", {.rows = complex_rows}},
      {"view_as_real", {.rows = complex_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
