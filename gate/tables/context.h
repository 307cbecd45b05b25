#pragma once

#include <string>

#include "core/nn/model_node.h"
#include "gate/tables/keys.h"
#include "gate/tables/mesh.h"
#include "sharding/parallel/context_parallel.h"

namespace simmesh {

// GateContext is parallel.context: sequences are cut over one dim of the mesh.
struct GateContext {
  std::string mesh;
  ContextParallel style;
};

// read_gate_context reads the key for a model on a mesh. Rejects a dim that doesn't exist, and
// models without attention or whose experts have a capacity, which is a number of all tokens.
GateContext read_gate_context(GateTable& table, const GateLayout& layout,
                              const nn::ModelNode& model);

// context_entry returns the key as TOML that reads as the same.
std::string context_entry(const GateContext& context);

}  // namespace simmesh
