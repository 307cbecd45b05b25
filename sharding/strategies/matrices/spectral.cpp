#include "core/ops/matrices/spectral.h"

#include "sharding/strategies/families.h"

namespace simmesh {

gsl::span<const OpStrategy> spectral_strategies() {
  static const std::vector<OpStrategy> strategies = {
      {"linalg_qr", {}},
      {"linalg_eigh", {}},
      {"linalg_svd", {}},
  };
  return strategies;
}

}  // namespace simmesh
