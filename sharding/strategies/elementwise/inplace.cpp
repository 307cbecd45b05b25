#include "core/ops/elementwise/inplace.h"

#include "core/ops/attribute_names.h"
#include "sharding/strategies/conversion_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

StrategyRows copy_rows(const StrategyRequest& call) {
  return elementwise_rows(call, conversion_rows(call.inputs[1].dtype, call.outputs[0].dtype, 2));
}

// If every rank writes the same value, its average, maximum and minimum are that value, but its sum
// isn't, unless it is zero.
StrategyRows fill_rows(const StrategyRequest& call) {
  auto number = call.attributes.number_in(attribute::value);
  bool is_zero = number && number->as<double>() == 0.0;
  StrategyRows rows;
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::max, ReduceOp::min}) {
    if (op == ReduceOp::sum && !is_zero) continue;
    rows.push_back(rule({Partial(op)}, Partial(op)));
    rows.push_back(rule({Partial(op), Replicate()}, Partial(op)));
  }
  return elementwise_rows(call, rows);
}

}  // namespace

void inplace_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"copy", {.rows = copy_rows, .accepts_short_dims = true}},
      {"fill", {.rows = fill_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
