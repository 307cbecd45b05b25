#pragma once

#include <string>

#include "sharding/validate/local_run.h"

namespace simmesh {

// outputs_difference returns in words the difference between the outputs of the whole call and the
// ranks' outputs, put together by their placements; empty where they are the same. Outputs without
// placements aren't looked at. Reductions are looked up in the known results, if
// these are given.
std::string outputs_difference(const WholeCall& call, const LocalOutputs& outputs,
                               const MeshPlacements& placements, DimSpan mesh_shape,
                               KnownResults* known = nullptr);

// inputs_text returns "float64[3, 5] S(0), float64[5] R": the inputs of a call and their
// placements.
std::string inputs_text(const WholeCall& call, const MeshPlacements& placements);

// mesh_rule_text returns "[S(0),R],[R,R] -> [S(0),R]": placements over several mesh dims.
std::string mesh_rule_text(const MeshPlacements& placements);

}  // namespace simmesh
