#pragma once

#include <list>

#include "core/samples/op_sample.h"
#include "sharding/validate/claimed_rules.h"

namespace simmesh {

// SizedClaims are the rules that a strategy claims for the calls of one sample. They depend on the
// sizes and on the number of ranks but not on the data, so they are asked for once for each of
// these.
class SizedClaims {
 public:
  // Site is a number of ranks along one mesh dim with sizes.
  struct Site {
    std::int64_t members = 2;
    SampleSizes sizes;

    bool operator==(const Site&) const = default;
  };

  explicit SizedClaims(ShortDims short_dims) : short_dims_(short_dims) {}

  // rules returns the claimed rules of a call; valid as long as the object.
  const StrategyRows& rules(const Site& site, const WholeCall& call,
                            const InputCandidates& candidates);

  // over_mesh returns what claimed_over_mesh makes of those rules of the site that hold, each
  // marked by true.
  const std::vector<MeshPlacements>& over_mesh(const Site& site, const WholeCall& call,
                                               const std::vector<bool>& holds, DimSpan mesh_shape);

 private:
  struct Known {
    Site site;
    StrategyRows rules;
    std::vector<bool> holds;
    std::optional<std::vector<MeshPlacements>> over_mesh;
  };
  Known* find(const Site& site);

  ShortDims short_dims_;
  std::list<Known> known_;
};

}  // namespace simmesh
