#pragma once

#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// record_redistribute puts `to` on the tape, the result of redistributing `from`. A gradient of
// `to` is redistributed to the placements of `from` (see gradient_placements), in a dtype if one is
// given, and converted to that of `from`.
void record_redistribute(const DTensor& from, DTensor& to, std::optional<DType> dtype = {});

// recorded_from_local puts the DTensor of a local piece on the tape: its gradient is redistributed
// to the placements that the options or the tensor name, and the piece gets the local part.
DTensor recorded_from_local(const Tensor& local, const DTensor& result,
                            const FromLocalOptions& options);

// gradient_placements returns the placements to which a gradient is redistributed, given its
// placements and those of the tensor. A Partial placement of the tensor becomes Replicate, which
// changes no value; but where the gradient has the same Partial placement, it stays.
Placements gradient_placements(PlacementSpan gradient, PlacementSpan tensor);

// without_partial returns placements with Replicate for each Partial placement.
Placements without_partial(Placements placements);

}  // namespace simmesh
