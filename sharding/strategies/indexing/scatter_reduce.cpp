#include "core/ops/indexing/scattering.h"
#include "sharding/strategies/families.h"
#include "sharding/strategies/indexing/scatter_rows.h"

namespace simmesh {

gsl::span<const OpStrategy> scatter_reduce_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"scatter_reduce", {.rows = scatter_rows}},
  };
  return strategies;
}

}  // namespace simmesh
