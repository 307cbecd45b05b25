#include "core/ops/matrices/spectral.h"

#include "sharding/strategies/strategy_table.h"

namespace simmesh {

void spectral_strategies(StrategyTable& table) {
  static const std::vector<OpStrategy> strategies = {
      {"linalg_qr", {}},
      {"linalg_eigh", {}},
      {"linalg_svd", {}},
  };
  table.add(strategies);
}

}  // namespace simmesh
