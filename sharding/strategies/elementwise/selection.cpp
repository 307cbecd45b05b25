#include "core/ops/elementwise/selection.h"

#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// A single bound that is a tensor makes clamp the larger or the lesser of two.
StrategyRows clamp_rows(const StrategyRequest& call) {
  auto is_given = [&](std::size_t i) {
    return i < call.inputs.size() && call.inputs[i].is_defined;
  };
  if (is_given(1) && !is_given(2)) return elementwise_rows(call, largest_rows());
  if (is_given(2) && !is_given(1)) return elementwise_rows(call, least_rows());
  return elementwise_rows(call);
}

// Where an infinity is replaced by a smaller number than some finite ones, the largest argument
// need not give the largest result.
StrategyRows nan_to_num_rows(const StrategyRequest& call) {
  double most = largest_finite(call.inputs[0].dtype);
  double above = call.attributes.get_or(attribute::posinf, most).as<double>();
  double below = call.attributes.get_or(attribute::neginf, -most).as<double>();
  bool is_increasing = above >= most && below <= -most;
  return elementwise_rows(call, is_increasing ? increasing_rows() : StrategyRows());
}

}  // namespace

void selection_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"maximum", elementwise(largest_rows())},
      {"minimum", elementwise(least_rows())},
      {"fmax", elementwise(largest_rows())},
      {"fmin", elementwise(least_rows())},
      {"where", elementwise()},
      {"clamp", {.rows = clamp_rows, .accepts_short_dims = true}},
      {"masked_fill", elementwise()},
      {"copysign", elementwise()},
      {"nan_to_num", {.rows = nan_to_num_rows, .accepts_short_dims = true}},
  };
  table.add(strategies);
}

}  // namespace simmesh
