#pragma once

#include <cstdint>

#include "core/nn/model_node.h"
#include "core/nn/router.h"
#include "gate/tables/keys.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

// GateMoe are the keys of the table [model] that say what the experts of a model take, and how its
// routers choose. docs/gates.md explains each key.
struct GateMoe {
  std::int64_t shared = 0;
  double capacity_factor = 0.0;  // 0: no limit
  bool gated = false;
  // The first blocks have a perceptron of this hidden size instead of experts.
  std::int64_t dense_layers = 0;
  std::int64_t dense_hidden = 0;
  nn::RouterOptions router;
};

// GateExperts are the number of experts, of those that a token has, and the features inside one.
struct GateExperts {
  std::int64_t experts;
  std::int64_t top_k;
  std::int64_t hidden;
};

// read_gate_moe reads the keys. Rejects groups that don't divide the experts, or leave fewer than
// top_k of them.
GateMoe read_gate_moe(GateTable& table, const GateExperts& experts);

// add_router_fields adds the fields that aren't at their defaults to the node of the experts.
void add_router_fields(const GateMoe& moe, nn::ModelNode& node);

// add_gate_moe adds the keys to a table that reads as the same.
void add_gate_moe(const GateMoe& moe, TomlTable& table);

}  // namespace simmesh
