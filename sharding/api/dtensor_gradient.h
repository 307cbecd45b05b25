#pragma once

#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// record_redistribute makes `to`, which `from` was redistributed to, part of the tape: a gradient
// of `to` is redistributed to the placements of `from` (see gradient_placements), in a dtype if one
// is given, and then comes in that of `from`.
void record_redistribute(const DTensor& from, DTensor& to, std::optional<DType> dtype = {});

// recorded_from_local makes the DTensor of a local piece part of the tape: its gradient is brought
// to the placements that the options or the tensor name, and the piece gets the local part.
DTensor recorded_from_local(const Tensor& local, const DTensor& result,
                            const FromLocalOptions& options);

// gradient_placements returns how a gradient that has some placements lies where the tensor has
// others. Partial placements of the tensor become Replicate, which changes no value; but where the
// gradient has the same Partial placement, it stays.
Placements gradient_placements(PlacementSpan gradient, PlacementSpan tensor);

// without_partial returns placements with Replicate for each Partial placement.
Placements without_partial(Placements placements);

}  // namespace simmesh
