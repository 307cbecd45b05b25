#pragma once

#include <vector>

#include "core/nn/module.h"
#include "fsdp/param/param.h"

namespace simmesh::fsdp {

// ManagedParam is a parameter that a call of fully_shard takes, with all its slots.
struct ManagedParam {
  Tensor parameter;
  ParameterSlots slots;
};

// managed_params returns the parameters of the modules and of those below them, down to modules
// that fully_shard was applied to before: modules in post-order, in a module in order of
// registration, each parameter once. This order fixes the flat layouts.
std::vector<ManagedParam> managed_params(const std::vector<nn::Module*>& modules,
                                         const std::vector<Tensor>& ignored);

}  // namespace simmesh::fsdp
