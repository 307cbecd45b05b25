#include "core/ops/reductions/statistics.h"

#include <cmath>
#include <limits>

#include "core/ops/call.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/promotion.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

double exponent_of(const Attributes& attributes) { return attributes.get(attribute::ord); }

// Returns the partial placement by which the norms of parts give the norm of the whole.
Placement partial_norm(double p) {
  if (p == 0) return Partial(ReduceOp::sum);
  if (std::isinf(p)) return Partial(p > 0 ? ReduceOp::max : ReduceOp::min);
  return NormPartial(p);
}

// An empty piece contributes +inf, the identity of min.
std::vector<Tensor> norm_of_piece(const LocalCall& call) {
  double p = exponent_of(call.attributes);
  if (std::isinf(p) && p < 0 && call.inputs[0].numel() == 0)
    return {full(call.output_specs[0]->local_shape(), call.inputs[0].dtype(),
                 std::numeric_limits<double>::infinity())};
  return simmesh::call(call.op, call.inputs, call.attributes);
}

// A partial tensor has other magnitudes than its parts, so no partial placement passes.
ShardingStrategy vector_norm_strategy() {
  return {.rows =
              [](const StrategyRequest& call) {
                return reduction_rows(call, partial_norm(exponent_of(call.attributes)));
              },
          .accepts_short_dims = true,
          .compute = norm_of_piece};
}

// The norm of a difference. PyTorch runs it as simpler ops, for which it tries pieces before the
// whole.
StrategyRows dist_rows(const StrategyRequest& call) {
  TensorType difference{broadcast_shapes(call.inputs), call.outputs[0].dtype};
  StrategyRows rows =
      elementwise_rows({call.inputs, gsl::span<const TensorType>(&difference, 1), call.attributes});
  for (StrategyRow& row : rows) row.outputs = {partial_norm(exponent_of(call.attributes))};
  rows.push_back(rule({Replicate(), Replicate()}, Replicate()));
  return rows;
}

}  // namespace

void statistics_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"var", reduction()},
      {"std", reduction()},
      {"var_mean", reduction()},
      {"logsumexp", reduction()},
      {"linalg_vector_norm", vector_norm_strategy()},
      {"dist", {.rows = dist_rows, .compute = norm_of_piece}},
  };
  table.add(strategies);
}

}  // namespace simmesh
