#include "core/ops/elementwise/elementary.h"

#include "sharding/strategies/partial_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

// A function that isn't defined everywhere passes no partial placement: a rank's part may be
// outside its domain.
void elementary_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"exp", elementwise(increasing_rows())},
      {"exp2", elementwise(increasing_rows())},
      {"expm1", elementwise(increasing_rows())},
      {"log", elementwise()},
      {"log1p", elementwise()},
      {"log2", elementwise()},
      {"log10", elementwise()},
      {"xlogy", elementwise()},
      {"sqrt", elementwise()},
      {"rsqrt", elementwise()},
      {"erf", elementwise(increasing_rows())},
      {"erfc", elementwise(decreasing_rows())},
      {"floor", elementwise(increasing_rows())},
      {"ceil", elementwise(increasing_rows())},
      {"round", elementwise(increasing_rows())},
      {"trunc", elementwise(increasing_rows())},
      {"sigmoid", elementwise(increasing_rows())},
      {"logaddexp", elementwise(increasing_pair_rows())},
  };
  table.add(strategies);
}

}  // namespace simmesh
