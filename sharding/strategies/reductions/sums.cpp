#include "core/ops/reductions/sums.h"

#include <algorithm>

#include "core/ops/kernels/reduction_call.h"
#include "sharding/strategies/dim_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Returns the rows of a reduction whose parts combine by the op that also reduces them.
StrategyRows combining_rows(const StrategyRequest& call, ReduceOp op, bool passes_partial) {
  Placement partial = Partial(op);
  StrategyRows rows = reduction_rows(call, partial);
  bool keeps_kind =
      is_floating_point(call.outputs[0].dtype) || !is_floating_point(call.inputs[0].dtype);
  if (passes_partial && keeps_kind) rows.push_back(rule({partial}, partial));
  return linear_in(call, std::move(rows));
}

ShardingStrategy combining(ReduceOp op, bool passes_partial = true) {
  return {
      .rows = [=](const StrategyRequest& call) { return combining_rows(call, op, passes_partial); },
      .accepts_short_dims = true};
}

std::int64_t shards_of(PlacementSpan placements, std::int64_t dim, DimSpan mesh_shape) {
  std::int64_t shards = 1;
  for (std::size_t i = 0; i < placements.size(); ++i)
    if (placements[i].splits(dim)) shards *= mesh_shape[i] * placements[i].split_factor();
  return shards;
}

// An average of averages is correct where each is of equally many elements.
bool has_even_shards(const MeshRequest& request, const MeshCandidate& candidate) {
  const Shape& shape = request.call.inputs[0].shape;
  const Placements& placements = *candidate.inputs[0];
  for (std::int64_t dim : reduced_dims(request.call.attributes, shape.size())) {
    if (dim >= std::int64_t(shape.size())) continue;
    auto is_ragged = [dim](const Placement& one) {
      return one.is_ragged_shard() && one.splits(dim);
    };
    if (std::any_of(placements.begin(), placements.end(), is_ragged)) return false;
    if (shape[std::size_t(dim)] % shards_of(placements, dim, request.mesh_shape) != 0) return false;
  }
  return true;
}

ShardingStrategy average() {
  return {
      .rows = [](const StrategyRequest& call) { return combining_rows(call, ReduceOp::avg, true); },
      .filter = has_even_shards};
}

// If one part of a partial sum is NaN, so is the whole, which counts as zero; the other parts alone
// can't tell. A call with attribute::passes_partial promises that there is none.
ShardingStrategy sum_without_nans() {
  return {.rows =
              [](const StrategyRequest& call) {
                return combining_rows(call, ReduceOp::sum,
                                      call.attributes.get_or(attribute::passes_partial, false));
              },
          .accepts_short_dims = true};
}

}  // namespace

void sums_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"sum", going_on(combining(ReduceOp::sum))},
      {"mean", going_on(average())},
      {"nansum", sum_without_nans()},
      {"prod", combining(ReduceOp::product)},
      {"any", reduction()},
      {"all", reduction()},
      {"count_nonzero", combining(ReduceOp::sum, false)},
  };
  table.add(strategies);
}

}  // namespace simmesh
