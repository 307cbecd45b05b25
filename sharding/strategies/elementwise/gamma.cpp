#include "core/ops/elementwise/gamma.h"

#include "sharding/strategies/families.h"
#include "sharding/strategies/pointwise_rows.h"

namespace simmesh {

gsl::span<const OpStrategy> gamma_strategies() {
  static const OpStrategy strategies[] = {
      {"lgamma", elementwise()},
      {"digamma", elementwise()},
      {"trigamma", elementwise()},
  };
  return strategies;
}

}  // namespace simmesh
