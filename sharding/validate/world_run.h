#pragma once

#include "sharding/validate/local_run.h"

namespace simmesh {

// run_in_world runs a call on the ranks' pieces inside a World, for a strategy whose own
// computation communicates; the arithmetic is the caller's. If a rank raises an Error or no rank
// can continue, it raises a RuntimeError with the World's report. It passes on any other exception
// of a rank.
LocalOutputs run_in_world(const WholeCall& call, const Dims& mesh_shape,
                          gsl::span<const std::vector<Tensor>* const> pieces,
                          const MeshPlacements& placements);

// run_claimed runs a call on the ranks' pieces: without a World if possible, else in one. A
// computation that communicates asks for its rank, which shows it. Known results are used as
// LocalRun::run does.
LocalOutputs run_claimed(const LocalRun& ranks, const WholeCall& call,
                         gsl::span<const std::vector<Tensor>* const> pieces,
                         const MeshPlacements& placements, KnownResults* known = nullptr);

}  // namespace simmesh
