#pragma once

#include "sharding/validate/local_run.h"

namespace simmesh {

// InputCandidates are the placements that are tried for each input of a call; an absent input has
// none.
using InputCandidates = std::vector<std::vector<Placement>>;

// ShortDims says whether rules count that dispatch doesn't use, since an input's dim is shorter
// than the number of its pieces.
enum class ShortDims : bool { left_out, allowed };

// claimed_rules returns the rules that a strategy claims for a call along one mesh dim: those that
// let every input stay in the placement of one of its candidates. Rules for replicated inputs are
// left out. A strategy that looks at all mesh dims together is asked about every combination of
// candidates.
StrategyRows claimed_rules(const WholeCall& call, const InputCandidates& candidates,
                           std::int64_t members, ShortDims short_dims = ShortDims::left_out);

// claimed_over_mesh returns the rules that propagate makes of the rules of two mesh dims together.
// For each pair of rules whose inputs stay where they are it returns the placements of the outputs.
std::vector<MeshPlacements> claimed_over_mesh(const WholeCall& call, const StrategyRows& rules,
                                              DimSpan mesh_shape);

// all_replicated is true if no input of a rule is cut or partial.
bool all_replicated(const StrategyRow& rule);

}  // namespace simmesh
