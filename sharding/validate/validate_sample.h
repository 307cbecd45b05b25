#pragma once

#include "core/ops/op.h"
#include "core/samples/op_sample.h"
#include "sharding/validate/sample_verdict.h"

namespace simmesh {

// ValidateOptions say how rules are judged.
struct ValidateOptions {
  std::uint64_t seed = 0;
  bool finds_missing = true;  // tries combinations that nobody claims
  bool judges_gradients = true;
  bool judges_two_dims = true;  // combines rules over a 2x2 mesh, too
};

// validate_sample judges the rules that an op's strategy claims for a sample call. The op runs on
// crafted pieces of every rank. Its results, put together as the rule says, must equal those of the
// op on the whole tensors; so must the gradients. Combinations of placements that nobody claims and
// that hold in every trial are missing.
SampleVerdict validate_sample(const Op& op, const OpSample& sample,
                              const ValidateOptions& options = {});

}  // namespace simmesh
