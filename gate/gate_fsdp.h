#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/gate_keys.h"
#include "gate/gate_mesh.h"
#include "training/fsdp_plan.h"
#include "training/sharded_training.h"

namespace simmesh {

// GateFsdp is parallel.fsdp: how fully_shard is called on a gate's model. The root is always
// wrapped last, so that every parameter is sharded but those that are ignored.
struct GateFsdp {
  // One dim shards; of two dims the first replicates and the second shards.
  std::vector<std::string> mesh;
  // "blocks": the blocks, or the root's children with parameters where there are none; "root": the
  // root alone; "modules": those that are listed.
  std::string wrap = "blocks";
  // Below the root, from the inside outwards. Each entry is one call, and so one group.
  std::vector<std::vector<std::string>> modules;
  PlainValue reshard_after_forward;  // of what is wrapped below the root; of the root if it's alone
  fsdp::MixedPrecisionPolicy mp_policy;
  bool offloads = false;
  // Shards each parameter along its largest dim that divides evenly, instead of dim 0.
  bool shards_largest_dim = false;
  std::vector<std::string> ignored_params;
  ShardedSettings settings;
};

// read_gate_fsdp reads the key for a model on a mesh. Rejects dims, modules and parameters that
// aren't there, an order of modules that fully_shard can't be applied in, and a number of ranks for
// reshard_after_forward that doesn't divide the shards.
GateFsdp read_gate_fsdp(GateTable& table, const GateLayout& layout, const nn::ModelNode& model);

// fsdp_plan returns the calls of fully_shard.
FsdpPlan fsdp_plan(const GateFsdp& fsdp, const GateLayout& layout, const nn::ModelNode& model);

}  // namespace simmesh
