#include "core/ops/indexing/resampling.h"

#include <algorithm>

#include "core/ops/attribute_names.h"
#include "sharding/strategies/moving_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Images and their channels are resampled one by one; the op is linear.
StrategyRows image_rows(const StrategyRequest& call) {
  return moving_rows(call, [](std::int64_t dim) { return dim < 2 ? dim : -1; },
                     {ReduceOp::sum, ReduceOp::avg});
}

// A quarter turn exchanges two dims and reverses one of them, so that the other stays in order; two
// quarter turns reverse both.
StrategyRows turning_rows(const StrategyRequest& call) {
  const Dims& dims = call.attributes.get(attribute::dims);
  std::int64_t turns = (call.attributes.get(attribute::k) % 4 + 4) % 4;
  return moving_rows(call, [&dims, turns](std::int64_t dim) -> std::int64_t {
    bool is_first = dim == dims[0], is_second = dim == dims[1];
    if (turns == 0 || (!is_first && !is_second)) return dim;
    if (turns == 1 && is_first) return dims[1];
    if (turns == 3 && is_second) return dims[0];
    return -1;
  });
}

}  // namespace

void resampling_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"upsample_nearest", {.rows = image_rows}},
      {"upsample_nearest_backward",
       {.rows = image_rows, .local_attributes = with_output_shape(attribute::input_sizes)}},
      {"rot90", {.rows = turning_rows}},
  };
  table.add(strategies);
}

}  // namespace simmesh
