#include "sharding/validate/sized_claims.h"

#include <algorithm>

#include "core/check/check.h"

namespace simmesh {

SizedClaims::Known* SizedClaims::find(const Site& site) {
  auto found = std::find_if(known_.begin(), known_.end(),
                            [&](const Known& known) { return known.site == site; });
  return found == known_.end() ? nullptr : &*found;
}

const StrategyRows& SizedClaims::rules(const Site& site, const WholeCall& call,
                                       const InputCandidates& candidates) {
  if (Known* known = find(site)) return known->rules;
  StrategyRows rules = claimed_rules(call, candidates, site.members, short_dims_);
  return known_.emplace_back(Known{site, std::move(rules), {}, {}}).rules;
}

const std::vector<MeshPlacements>& SizedClaims::over_mesh(const Site& site, const WholeCall& call,
                                                          const std::vector<bool>& holds,
                                                          DimSpan mesh_shape) {
  Known* known = find(site);
  SIMMESH_CHECK(known && known->rules.size() == holds.size(), "{} rules of unknown sizes",
                holds.size());
  if (known->over_mesh && known->holds == holds) return *known->over_mesh;
  StrategyRows rules;
  for (std::size_t i = 0; i < holds.size(); ++i)
    if (holds[i]) rules.push_back(known->rules[i]);
  known->holds = holds;
  if (!rules.empty()) {
    rules.push_back(StrategyRow(rules.front()));
    for (auto* entries : {&rules.back().inputs, &rules.back().outputs})
      for (auto& entry : *entries)
        if (entry) entry = Replicate();
  }
  known->over_mesh = claimed_over_mesh(call, rules, mesh_shape);
  return *known->over_mesh;
}

}  // namespace simmesh
