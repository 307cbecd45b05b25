#include "core/ops/elementwise/pointwise.h"

#include "sharding/strategies/families.h"
#include "sharding/strategies/pending_rows.h"
#include "sharding/strategies/pointwise_rows.h"

namespace simmesh {

gsl::span<const OpStrategy> pointwise_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"add", elementwise(additive_rows())},
      {"sub", elementwise(additive_rows())},
      {"mul", elementwise(joined({linear_rows(), product_rows()}))},
      {"div", elementwise(joined({linear_rows(), quotient_rows()}))},
      {"neg", elementwise(joined({linear_rows(), decreasing_rows()}))},
      {"_to_copy", elementwise(joined({linear_rows(), increasing_rows()}))},
  };
  return strategies;
}

}  // namespace simmesh
