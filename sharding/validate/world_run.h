#pragma once

#include "sharding/validate/local_run.h"

namespace simmesh {

// run_in_world runs a call on the ranks' pieces inside a World, for a strategy whose own
// computation communicates; the arithmetic is the caller's. Raises a RuntimeError with the World's
// report where a rank raises an Error or none of them can go on, and what else a rank raises.
LocalOutputs run_in_world(const WholeCall& call, const Dims& mesh_shape,
                          gsl::span<const std::vector<Tensor>* const> pieces,
                          const MeshPlacements& placements);

// run_claimed runs a call on the ranks' pieces: without a World where that can be, else in one. A
// computation that communicates says so by asking for its rank.
LocalOutputs run_claimed(const LocalRun& ranks, const WholeCall& call,
                         gsl::span<const std::vector<Tensor>* const> pieces,
                         const MeshPlacements& placements);

}  // namespace simmesh
