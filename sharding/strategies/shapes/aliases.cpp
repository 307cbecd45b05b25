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

// PyTorch views the last dim as one of numbers and one of parts, for which shards must cut it into
// equal pieces.
std::vector<MeshCandidate> view_as_real_candidates(const MeshRequest& request) {
  const Shape& pairs = request.call.outputs[0].shape;
  std::int64_t last = std::int64_t(pairs.size()) - 2;
  std::int64_t left = last < 0 ? 1 : pairs[std::size_t(last)];
  Placements placements = *request.given[0];
  for (std::size_t mesh_dim = 0; mesh_dim < placements.size(); ++mesh_dim) {
    Placement& one = placements[mesh_dim];
    if (one.splits(last + 1)) one = Replicate();
    if (!one.splits(last)) continue;
    std::int64_t parts = request.mesh_shape[mesh_dim];
    bool is_even = one.is_shard() && left % parts == 0;
    if (is_even) left /= parts;
    if (!is_even) one = Replicate();
  }
  return {{{placements}, {placements}}};
}

}  // namespace

void aliases_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"alias", passing()},
      {"positive", passing()},
      {"view_dtype", {.rows = view_dtype_rows, .accepts_short_dims = true}},
      {"view_as_complex", {.rows = complex_rows}},
      {"view_as_real", {.over_mesh = view_as_real_candidates}},
  };
  table.add(strategies);
}

}  // namespace simmesh
