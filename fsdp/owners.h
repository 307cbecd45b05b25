#pragma once

#include <gsl/span>
#include <vector>

#include "core/nn/module.h"

namespace simmesh::fsdp {

// check_owners checks for all sharded parameters of a model that the bytes of a shard have one
// owner. Gathers read them, a module's slots register them and an optimiser changes them; where
// these are not the same bytes, or two parameters share bytes, some ranks train a copy that nobody
// reads. `optimized` are the parameters that an optimiser holds; empty to compare none.
//
// Costs no communication. Raises an AssertionError that names rank and parameter.
void check_owners(nn::Module& model, gsl::span<const Tensor> optimized = {});

}  // namespace simmesh::fsdp
