#pragma once

#include <cstdint>
#include <vector>

#include "core/samples/op_sample.h"

namespace simmesh {

// ValidationSite is one trial of a sample: sizes, data, the number of ranks along the mesh dim, and
// how partial operands are crafted.
struct ValidationSite {
  std::int64_t members = 2;
  SampleSizes sizes;
  SampleData data;
  std::uint64_t craft_seed = 0;
};

// validation_sites returns the trials of a sample, small ones first: 2, 3 and 4 ranks; sizes that
// the ranks divide evenly and unevenly, one size in turn below the number of ranks, one in turn
// empty; each kind of data, also negated, and several crafted splits.
std::vector<ValidationSite> validation_sites(const OpSample& sample, std::uint64_t seed);

}  // namespace simmesh
