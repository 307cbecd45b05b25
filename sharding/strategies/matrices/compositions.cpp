#include "core/ops/matrices/compositions.h"

#include "core/ops/attribute_names.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// The vectors are along one dim; operands are broadcast along the others. The product is linear in
// either.
StrategyRows cross_rows(const StrategyRequest& call) {
  StrategyRows rows = elementwise_rows(call, product_rows());
  rows.erase(rows.begin() + call.attributes.get(attribute::dim));
  return linear_in(call, std::move(rows));
}

}  // namespace

void compositions_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"linalg_cross", {.rows = cross_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
