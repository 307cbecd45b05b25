#pragma once

#include "core/ops/op.h"
#include "core/samples/op_sample.h"
#include "sharding/validate/sample_verdict.h"

namespace simmesh {

// ValidateOptions say how rules are judged.
struct ValidateOptions {
  std::uint64_t seed = 0;
  bool finds_missing = true;  // whether combinations that nobody claims are tried
  bool judges_gradients = true;
  bool judges_two_dims = true;  // whether rules are also combined over a 2x2 mesh
};

// validate_sample judges the rules that an op's strategy claims of a sample call: the op is run on
// crafted pieces of every rank, and what the ranks have, put together as the rule says, must be
// what the op gives of the whole tensors; so must the gradients. Combinations of placements that
// nobody claims and that hold in every trial are missing.
SampleVerdict validate_sample(const Op& op, const OpSample& sample,
                              const ValidateOptions& options = {});

}  // namespace simmesh
