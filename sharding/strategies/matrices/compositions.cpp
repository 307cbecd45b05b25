#include "core/ops/matrices/compositions.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/families.h"
#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"

namespace simmesh {

namespace {

// The vectors are along one dim; operands are broadcast along the others. The product is linear in
// either.
StrategyRows cross_rows(const StrategyRequest& call) {
  StrategyRows rows = elementwise_rows(call, product_rows());
  rows.erase(rows.begin() + call.attributes.get<std::int64_t>("dim"));
  return linear_in(call, std::move(rows));
}

}  // namespace

gsl::span<const OpStrategy> composition_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"linalg_cross", {.rows = cross_rows, .accepts_short_dims = true}},
  };
  return strategies;
}

}  // namespace simmesh
