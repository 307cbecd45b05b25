#include "gate/folding.h"

#include <algorithm>

namespace simmesh {

std::size_t GateFolding::index_of(RankId rank) const {
  return std::size_t(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

GateFolding folding_of(const GateFile& gate) {
  std::int64_t stages = 1, stride = 1;
  if (gate.parallel.pipeline) {
    stages = gate.mesh.shape[gate.mesh.index_of(gate.parallel.pipeline->mesh)];
    stride = gate.mesh.stride_of(gate.parallel.pipeline->mesh);
  }
  GateFolding folding;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    auto first = RankId(stage * stride);
    auto last = RankId(gate.ranks() - 1 - (stages - 1 - stage) * stride);
    folding.alike.emplace_back(first, last);
    folding.ranks.push_back(first);
    if (last != first) folding.ranks.push_back(last);
  }
  std::sort(folding.ranks.begin(), folding.ranks.end());
  return folding;
}

}  // namespace simmesh
