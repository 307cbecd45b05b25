#include "core/ops/matrices/linear_algebra.h"

#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Matrices are the last two dims; a batch of them may be split.
StrategyRows batch_rows(const StrategyRequest& call) {
  StrategyRows rows;
  for (std::int64_t dim = 0; dim + 2 < std::int64_t(call.inputs[0].shape.size()); ++dim)
    rows.push_back(common_dim_row(call, dim));
  return rows;
}

ShardingStrategy by_matrix() { return {.rows = batch_rows, .accepts_short_dims = true}; }

// The solution is linear in the right-hand side.
StrategyRows solve_rows(const StrategyRequest& call) {
  StrategyRows rows = batch_rows(call);
  Placement partial = Partial(ReduceOp::sum);
  rows.push_back(rule({Replicate(), partial}, partial));
  return rows;
}

}  // namespace

void linear_algebra_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"linalg_cholesky", by_matrix()},
      {"linalg_inv", by_matrix()},
      {"linalg_det", by_matrix()},
      {"linalg_slogdet", by_matrix()},
      {"linalg_solve", {.rows = solve_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
