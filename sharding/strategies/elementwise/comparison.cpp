#include "core/ops/elementwise/comparison.h"

#include "collectives/collectives.h"
#include "core/ops/call.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Tensors of one shape are compared piece by piece.
StrategyRows equal_rows(const StrategyRequest& call) {
  StrategyRows rows;
  if (call.inputs[0].shape != call.inputs[1].shape) return rows;
  for (std::int64_t dim = 0; dim < std::int64_t(call.inputs[0].shape.size()); ++dim)
    rows.push_back(rule({Shard(dim), Shard(dim)}, Replicate()));
  return rows;
}

// A difference on one rank is a difference for all ranks of the mesh. They communicate in any case,
// as PyTorch's do, so that a call costs the same whatever its placements.
std::vector<Tensor> equal_everywhere(const LocalCall& call) {
  std::vector<Tensor> outputs = simmesh::call(call.op, call.inputs, call.attributes);
  return {all_reduce(outputs[0], ReduceOp::min, call.output_specs[0]->groups->whole())};
}

}  // namespace

void comparison_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"eq", elementwise()},
      {"ne", elementwise()},
      {"lt", elementwise()},
      {"le", elementwise()},
      {"gt", elementwise()},
      {"ge", elementwise()},
      {"equal", {.rows = equal_rows, .accepts_short_dims = true, .compute = equal_everywhere}},
  };
  table.add(strategies);
}

}  // namespace simmesh
