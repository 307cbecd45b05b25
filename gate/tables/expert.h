#pragma once

#include <string>

#include "core/nn/model_node.h"
#include "gate/tables/fsdp.h"
#include "gate/tables/keys.h"
#include "gate/tables/mesh.h"
#include "sharding/parallel/expert_parallel.h"

namespace simmesh {

// GateExpert is parallel.expert: the experts of a model are spread over one dim of the mesh. Rows
// are cut over it too, unless it is the dim of parallel.tensor, whose ranks take the same rows.
struct GateExpert {
  std::string mesh;
  // Each expert is split over the dim of parallel.tensor, if that is another one.
  bool tensor_parallel = true;
};

// read_gate_expert reads the key for a model on a mesh. Rejects a dim that doesn't exist, and a
// model without experts. With fsdp, rejects modules of single experts to wrap, and a
// reshard_after_forward that doesn't divide the number of the experts' shards.
GateExpert read_gate_expert(GateTable& table, const GateLayout& layout, const nn::ModelNode& model,
                            const GateFsdp* fsdp);

// expert_entry returns the key as TOML that reads as the same.
std::string expert_entry(const GateExpert& expert);

// spread_fsdp_plan changes the calls of fully_shard for experts that are spread. Experts are
// sharded over the other dims of fsdp.mesh; without any, each expert is whole on its rank. All
// other parameters are also replicated over the experts' dim, unless fsdp.mesh has it.
//
// The dim of a whole expert is one of a single rank, which owner_layout adds to a layout; a plan
// whose mesh lacks it gets another mesh for its experts.
GateLayout owner_layout(const GateLayout& layout);
void spread_fsdp_plan(const GateExpert& expert, const GateFsdp& fsdp, const nn::ModelNode& model,
                      FsdpPlan& plan);

}  // namespace simmesh
