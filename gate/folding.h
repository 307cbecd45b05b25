#pragma once

#include <utility>
#include <vector>

#include "core/engine/ranks/rank.h"
#include "gate/file.h"

namespace simmesh {

// GateFolding are the ranks that run in a folded world, ascending, and the pairs of them whose
// figures have to be equal.
struct GateFolding {
  std::vector<RankId> ranks;
  std::vector<std::pair<RankId, RankId>> alike;

  // index_of returns the place of a rank that runs.
  std::size_t index_of(RankId rank) const;
};

// folding_of returns the first and the last rank of a gate. Stages of a pipeline differ: beside
// parallel.pipeline those ranks stand for the ones of their stages, and the ranks of both their
// pipelines run.
GateFolding folding_of(const GateFile& gate);

}  // namespace simmesh
