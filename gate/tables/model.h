#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/nn/model_node.h"
#include "gate/tables/keys.h"
#include "gate/tables/moe.h"
#include "training/training.h"

namespace simmesh {

// ModelKind is the key `kind` of the table [model]. `nodes` is a model that is given as a list of
// nodes.
enum class ModelKind : std::uint8_t { mlp, transformer, moe, linear_stack, nodes };
std::string_view to_string(ModelKind kind);

// GateModel is the table [model] of a gate file. docs/gates.md explains each key.
struct GateModel {
  ModelKind kind = ModelKind::mlp;
  std::int64_t layers = 2;
  std::int64_t width = 16;
  std::int64_t hidden = 32;
  std::int64_t out = 8;
  std::int64_t heads = 2;
  std::int64_t vocabulary = 32;
  std::int64_t experts = 4;
  std::int64_t top_k = 2;
  GateMoe moe;
  bool bias = true;
  bool causal = true;
  std::string activation = "gelu";
  std::string norm = "layer_norm";
  double dropout = 0.0;    // 0: the model has none
  bool tied_head = false;  // the head has the weights of the embedding
  std::vector<nn::ModelNode> nodes;
  DType dtype = DType::float32;
  Rule init_rule = Rule::unit;
  double init_scale = 0.02;
  std::uint64_t init_seed = 1;
  bool init_on_meta = false;  // parameters get memory once they are sharded

  bool is_given_by_nodes() const { return kind == ModelKind::nodes; }
  // has_blocks is true for a model of transformer blocks, which takes and predicts tokens.
  bool has_blocks() const { return kind == ModelKind::transformer || kind == ModelKind::moe; }
};

// read_gate_model reads the table. Keys that the kind doesn't have are unknown.
GateModel read_gate_model(GateTable& table);

// ModelUse has the values of the rest of the gate on which a model depends.
struct ModelUse {
  std::int64_t sequence = 1;
  bool checkpoint_blocks = false;
  std::int64_t elements_max = std::int64_t{1} << 26;  // of all parameters
};

// model_node returns the model as a tree of nodes. Its root has no name.
nn::ModelNode model_node(const GateModel& model, const ModelUse& use);

// training_model returns the model with the values of all parameters. Parameter i, in order of
// registration, has the values of the formula with seed + i, times scale; vectors named weight,
// which are those of norms, also get 1 added. Raises a ValueError for nodes that don't form a
// model, and for more than elements_max elements.
TrainingModel training_model(const GateModel& model, const ModelUse& use);

// has_kind is true if a node or any node below it has the kind.
bool has_kind(const nn::ModelNode& node, std::string_view kind);

}  // namespace simmesh
