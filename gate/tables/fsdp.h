#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gate/tables/keys.h"
#include "gate/tables/mesh.h"
#include "training/fsdp_plan.h"
#include "training/sharded_training.h"

namespace simmesh {

// GateFsdp is parallel.fsdp: the calls of fully_shard on a gate's model. The root is always wrapped
// last, so every parameter is sharded except those that are ignored.
struct GateFsdp {
  // A single dim shards; of two dims the first replicates and the second shards.
  std::vector<std::string> mesh;
  // A dim over which sequences are cut, and which mesh doesn't have: parameters are sharded over
  // the last dim of mesh and this one together. Empty for none.
  std::string sequence_dim = {};
  // "blocks": the blocks or, without blocks, the root's children that have parameters; "root": only
  // the root; "modules": the modules below.
  std::string wrap = "blocks";
  // Modules below the root, inner ones first. Each entry is one call and one group.
  std::vector<std::vector<std::string>> modules;
  // For the modules below the root; for the root if it is the only one.
  PlainValue reshard_after_forward;
  fsdp::MixedPrecisionPolicy mp_policy;
  bool offloads = false;
  // Shards each parameter along its largest dim that divides evenly, instead of along dim 0.
  bool shards_largest_dim = false;
  std::vector<std::string> ignored_params;
  ShardedSettings settings;
};

// read_gate_fsdp reads the key for a model on a mesh. Rejects dims, modules and parameters that
// don't exist, an order of modules in which fully_shard can't be applied, and a
// reshard_after_forward that doesn't divide the number of shards.
GateFsdp read_gate_fsdp(GateTable& table, const GateLayout& layout, const nn::ModelNode& model);

// shard_count returns the number of shards of a parameter.
std::int64_t shard_count(const GateFsdp& fsdp, const GateLayout& layout);

// largest_dim returns the largest dim that the number of shards divides evenly, else dim 0, which
// can always be sharded.
std::int64_t largest_dim(const Shape& shape, std::int64_t shards);

// fsdp_plan returns the calls of fully_shard for a model on a mesh.
FsdpPlan fsdp_plan(const GateFsdp& fsdp, const GateLayout& layout, const nn::ModelNode& model);

}  // namespace simmesh
