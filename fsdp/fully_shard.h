#pragma once

#include <vector>

#include "core/check/call_site.h"
#include "fsdp/fsdp_module.h"
#include "fsdp/param/options.h"

namespace simmesh::fsdp {

// fully_shard shards the parameters of a module, and of those below it that weren't sharded before,
// over a mesh: apply it to inner modules first. Each call makes one group, which is gathered before
// the module's forward and backward, given up after them, and whose gradients are reduced as soon
// as they are complete. Names, defaults, refusals and the order of all events are PyTorch's.
//
//   for (auto& [name, layer] : model.find("layers").children())
//     fsdp::fully_shard(*layer, {.mesh = mesh["dp"], .reshard_after_forward = true});
//   fsdp::fully_shard(model, {.mesh = mesh["dp"]});
// Raises a ValueError for a module list, which can't be called, and an AssertionError where
// fully_shard was applied to the module before. Reports of a group's collectives name the site, and
// the module by its path below the root.
FSDPModule fully_shard(nn::Module& module, const FullyShardOptions& options = {},
                       CallSite site = CallSite::here());
// Several modules form one group; a module below another of the list is part of that one.
FSDPModule fully_shard(const std::vector<nn::Module*>& modules,
                       const FullyShardOptions& options = {}, CallSite site = CallSite::here());

}  // namespace simmesh::fsdp
